#!/usr/bin/env python3
"""Makes the digits model: trains it, quantises it, measures it and writes every file beside it.

    pip install -r requirements.txt
    python3 make_digits.py              # writes into this folder
    python3 make_digits.py --check      # makes everything again and compares it with this folder

Data: the 1,797 digit images of 8x8 pixels (values 0..16) that scikit-learn ships; see README.md.
Training is float32 in Keras, quantisation is TensorFlow's TFLiteConverter (full int8, int8 input
and output), and the expected outputs and the int8 accuracy come from tflite-micro's interpreter,
that is TensorFlow Lite Micro's reference kernels with double-rounding requantisation.

The result is a function of this file, of requirements.txt and of the processor's instruction set:
every random draw is seeded, TensorFlow runs one thread with deterministic kernels and without
oneDNN. The held-out samples serve to measure only; nothing is chosen by looking at them.
"""

import os

# TensorFlow reads these when it is imported. oneDNN picks kernels, and with them summation orders,
# by processor.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import argparse
import filecmp
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import sys
import tempfile

import numpy as np
import sklearn.datasets
import sklearn.model_selection
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter as LiteRtInterpreter
from ai_edge_litert.interpreter import OpResolverType
from tensorflow.lite.python import schema_py_generated as schema
from tflite_micro import runtime as tflm

SEED = 20240229
HELD_OUT_SHARE = 0.25
EPOCHS = 80
BATCH_SIZE = 64
SHIFT_SHARE = 0.25  # of 0, 0.25, 0.5, 1 the best in 3-fold cross-validation on the training part
PEAK_LEARNING_RATE = 4e-3
CLASS_COUNT = 10
SAMPLE_COUNT = 16
INPUT_NAME = "image"

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ("tensorflow-cpu", "keras", "numpy", "scikit-learn", "tflite-micro", "ai-edge-litert")


def load_split():
    """Returns (train_images, train_labels, held_images, held_labels, held_indices).

    Images are float32 [N, 8, 8, 1] in 0..1 (pixel / 16), labels int64 [N]. The split is stratified
    by class; held_indices are positions in scikit-learn's data set, ascending.
    """
    digits = sklearn.datasets.load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., np.newaxis]
    train, held = sklearn.model_selection.train_test_split(
        np.arange(len(images)), test_size=HELD_OUT_SHARE, stratify=digits.target, random_state=SEED)
    train.sort()
    held.sort()
    return images[train], digits.target[train], images[held], digits.target[held], held


def shifted(images, rng):
    """Moves SHIFT_SHARE of the images by -1, 0 or 1 pixels along both axes; the rest stay.

    What leaves the frame is lost and zeros come in.
    """
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    offsets = rng.integers(0, 3, size=(len(images), 2))
    moved = np.stack([padded[i, y:y + 8, x:x + 8] for i, (y, x) in enumerate(offsets)])
    stays = rng.random(len(images)) >= SHIFT_SHARE
    return np.where(stays[:, np.newaxis, np.newaxis, np.newaxis], images, moved)


def build_model():
    """A residual network of depthwise-separable convolutions, [N, 8, 8, 1] -> softmax [N, 10]."""
    layers = tf.keras.layers

    def normalised(x, name):
        return layers.BatchNormalization(name=f"{name}_norm")(x)

    def relu(x, name):
        return layers.ReLU(name=f"{name}_relu")(x)

    def separable(x, channels, name, stride=1):
        depthwise, pointwise = f"{name}_depthwise", f"{name}_pointwise"
        x = layers.DepthwiseConv2D(
            3, strides=stride, padding="same", use_bias=False, name=depthwise)(x)
        x = relu(normalised(x, depthwise), depthwise)
        x = layers.Conv2D(channels, 1, use_bias=False, name=pointwise)(x)
        return normalised(x, pointwise)

    def residual(x, channels, name):
        return relu(layers.Add(name=f"{name}_add")([x, separable(x, channels, name)]), name)

    inputs = layers.Input((8, 8, 1), name=INPUT_NAME)
    x = layers.Conv2D(16, 3, padding="same", use_bias=False, name="stem")(inputs)
    x = relu(normalised(x, "stem"), "stem")
    x = residual(x, 16, "block1")
    x = relu(separable(x, 32, "down", stride=2), "down")
    x = residual(x, 32, "block2")
    x = layers.AveragePooling2D(4, name="pool")(x)
    x = layers.Dropout(0.2, name="drop")(layers.Flatten(name="flatten")(x))
    outputs = layers.Dense(CLASS_COUNT, activation="softmax", name="scores")(x)
    return tf.keras.Model(inputs, outputs, name="digits")


def train(images, labels):
    """Trains for a fixed number of epochs under a cosine learning rate; returns the model."""
    tf.keras.utils.set_random_seed(SEED)
    model = build_model()
    steps = EPOCHS * -(-len(images) // BATCH_SIZE)
    rate = tf.keras.optimizers.schedules.CosineDecay(PEAK_LEARNING_RATE, steps)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(rate),
        loss=tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.05),
        jit_compile=False)
    rng = np.random.default_rng(SEED)
    targets = np.eye(CLASS_COUNT, dtype=np.float32)[labels]
    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        epoch_images = shifted(images, rng)
        for start in range(0, len(order), BATCH_SIZE):
            batch = order[start:start + BATCH_SIZE]
            model.train_on_batch(epoch_images[batch], targets[batch])
    return model


def quantise(model, calibration_images):
    """Converts to full int8; activation ranges come from all of calibration_images."""
    signature = tf.TensorSpec([1, 8, 8, 1], tf.float32, name=INPUT_NAME)
    function = tf.function(lambda image: model(image, training=False))
    # Without a trackable object the converter freezes the variables into constants itself.
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [function.get_concrete_function(signature)])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[np.newaxis]] for image in calibration_images)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    return converter.convert()


def describe(flatbuffer):
    """Reads the model file: operators in order, input and output specifications."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(flatbuffer))
    graph = model.subgraphs[0]
    builtin = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    dtype = {v: k.lower() for k, v in vars(schema.TensorType).items() if isinstance(v, int)}

    def tensor(index):
        t = graph.tensors[index]
        return {
            "name": t.name.decode(), "dtype": dtype[t.type], "shape": [int(d) for d in t.shape],
            "scale": float(t.quantization.scale[0]), "zero_point": int(t.quantization.zeroPoint[0])}

    operators = []
    for operator in graph.operators:
        code = model.operatorCodes[operator.opcodeIndex]
        entry = {"operator": builtin[code.builtinCode], "version": code.version}
        entry["output"] = tensor(operator.outputs[0])
        if len(operator.inputs) == 3:
            scales = graph.tensors[operator.inputs[1]].quantization.scale
            entry["weight_scales"] = len(scales)
        operators.append(entry)
    return operators, tensor(graph.inputs[0]), tensor(graph.outputs[0])


def quantised_input(images, spec):
    """float [N, 8, 8, 1] -> int8 by the model's own input scale and zero point, half to even."""
    scale = np.float32(spec["scale"])
    values = np.rint(images / scale) + spec["zero_point"]
    return np.clip(values, -128, 127).astype(np.int8)


def run_tflm(flatbuffer, inputs):
    """int8 [N, 8, 8, 1] -> int8 [N, 10]: TensorFlow Lite Micro's reference kernels."""
    interpreter = tflm.Interpreter.from_bytes(flatbuffer)
    outputs = []
    for image in inputs:
        interpreter.set_input(image[np.newaxis], 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0).copy())
    return np.concatenate(outputs)


def run_litert(flatbuffer, inputs):
    """The same by LiteRT's reference kernels (BUILTIN_REF: no XNNPACK delegate)."""
    interpreter = LiteRtInterpreter(
        model_content=flatbuffer, num_threads=1,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]["index"]
    target = interpreter.get_output_details()[0]["index"]
    outputs = []
    for image in inputs:
        interpreter.set_tensor(source, image[np.newaxis])
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(target).copy())
    return np.concatenate(outputs)


def choose_samples(labels):
    """The first held-out sample of each class, then the first others, in held-out order."""
    first = {int(np.flatnonzero(labels == c)[0]) for c in range(CLASS_COUNT)}
    others = [i for i in range(len(labels)) if i not in first]
    return sorted(first | set(others[:SAMPLE_COUNT - CLASS_COUNT]))


REFERENCE = "tflite-micro (PyPI), reference kernels, double-rounding requantisation"


def experiment_yaml(spec, output_spec, producer):
    def tensor(entry, file):
        shape = ", ".join(str(d) for d in entry["shape"])
        return f"{{index: 0, name: {entry['name']}, dtype: {entry['dtype']}, shape: [{shape}], file: {file}}}"

    lines = [
        "# Sixteen held-out digits, one run each; written by make_digits.py.", "name: digits", "model: digits.tflite",
        "defaults:", "  platform: corstone-300", "runs:"]
    for run in range(SAMPLE_COUNT):
        lines += [
            f"  - name: s{run:02d}", "    fvp:", "      tensor_io:",
            f"        inputs: [{tensor(spec, f'inputs/{run:02d}.bin')}]", "        references:",
            "          - origin: other", f'            description: "{producer}"',
            f"            tensors: [{tensor(output_spec, f'expected/s{run:02d}/output-0.bin')}]"]
    return "\n".join(lines) + "\n"


def accuracy(scores, labels):
    correct = int(np.sum(np.argmax(scores, axis=1) == labels))
    percent = round(100 * correct / len(labels), 3)
    return {"correct": correct, "samples": len(labels), "percent": percent}


def agreement(actual, expected):
    difference = np.abs(actual.astype(np.int32) - expected.astype(np.int32))
    return {
        "elements": int(difference.size), "differing": int(np.count_nonzero(difference)),
        "max_abs_difference": int(difference.max()),
        "same_class": int(np.sum(actual.argmax(axis=1) == expected.argmax(axis=1)))}


def overlap(train_images, held_images):
    """Number of held-out images that also occur, pixel for pixel, among the training images."""
    known = {image.tobytes() for image in train_images}
    return sum(image.tobytes() in known for image in held_images)


def write_files(out, files):
    for name, content in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def make(out):
    """Makes every generated file below `out`; raises SystemExit where the model falls short."""
    train_images, train_labels, held_images, held_labels, held_indices = load_split()
    model = train(train_images, train_labels)
    flatbuffer = bytes(quantise(model, train_images))
    operators, input_spec, output_spec = describe(flatbuffer)

    inputs = quantised_input(held_images, input_spec)
    outputs = run_tflm(flatbuffer, inputs)
    float_scores = model.predict_on_batch(held_images)
    float_accuracy = accuracy(float_scores, held_labels)
    int8_accuracy = accuracy(outputs, held_labels)
    if int8_accuracy["percent"] < 97:
        raise SystemExit(f"int8 accuracy {int8_accuracy} is below 97 % of the held-out samples")
    if abs(int8_accuracy["percent"] - float_accuracy["percent"]) > 0.5:
        raise SystemExit(f"int8 {int8_accuracy}, float {float_accuracy}: over 0.5 points apart")

    files = {
        "digits.tflite": flatbuffer,
        "experiment.yaml": experiment_yaml(input_spec, output_spec, REFERENCE).encode(),
        "held_out/inputs.bin": inputs.tobytes(),
        "held_out/labels.bin": held_labels.astype(np.uint8).tobytes(),
        "held_out/expected.bin": outputs.tobytes(),
    }
    samples = []
    for run, position in enumerate(choose_samples(held_labels)):
        source, expected = f"inputs/{run:02d}.bin", f"expected/s{run:02d}/output-0.bin"
        files[source] = inputs[position].tobytes()
        files[expected] = outputs[position].tobytes()
        samples.append({
            "run": f"s{run:02d}", "input": source, "expected": expected,
            "label": int(held_labels[position]), "predicted": int(outputs[position].argmax()),
            "float_predicted": int(float_scores[position].argmax()),
            "held_out_position": position, "data_set_index": int(held_indices[position])})
    files["inputs/labels.txt"] = "".join(f"{s['label']}\n" for s in samples).encode()

    files["MODEL.json"] = (json.dumps({
        "name": "digits",
        "purpose": "int8 classifier of handwritten digits, 8x8 grey images -> scores of 0..9",
        "files": {n: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()}
                  for n, c in sorted(files.items())},
        "input": input_spec,
        "output": output_spec,
        "operators": operators,
        "parameters": int(model.count_params()),
        "accuracy": {"float": float_accuracy, "int8": int8_accuracy,
                     "float_producer": "Keras model, float32",
                     "int8_producer": "tflite-micro over held_out/inputs.bin"},
        "expected_outputs": {
            "producer": REFERENCE,
            "version": importlib.metadata.version("tflite-micro"),
            "litert_reference_kernels_vs_expected":
                agreement(run_litert(flatbuffer, inputs), outputs)},
        "data": {
            "source": "scikit-learn load_digits (UCI Optical Recognition of Handwritten Digits, "
                      "E. Alpaydin and C. Kaynak, 1998, doi:10.24432/C50P49; its test part)",
            "licence": "CC BY 4.0",
            "changes": "pixels divided by 16, quantised to int8, stored as raw bytes",
            "split": {"method": "stratified by class", "seed": SEED, "train": len(train_images),
                      "held_out": len(held_images),
                      "held_out_images_also_in_train": overlap(train_images, held_images)},
            "held_out_per_class": np.bincount(held_labels).tolist()},
        "licence": "Apache-2.0 (model and script); digit images CC BY 4.0",
        "packages": {"python": platform.python_version(),
                     **{p: importlib.metadata.version(p) for p in PACKAGES}},
        "samples": samples,
    }, indent=1) + "\n").encode()
    write_files(out, files)
    print(f"digits.tflite {len(flatbuffer)} bytes sha256 {hashlib.sha256(flatbuffer).hexdigest()}")
    print(f"held-out accuracy: float {float_accuracy}, int8 {int8_accuracy}")
    return files


def check():
    """Makes everything in a temporary folder; returns the names that differ from this folder's."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch)
        return [n for n in sorted(make(out))
                if not (HERE / n).is_file() or not filecmp.cmp(out / n, HERE / n, shallow=False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="folder to write to")
    parser.add_argument("--check", action="store_true",
                        help="make again and compare; write nothing")
    arguments = parser.parse_args()
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.experimental.enable_op_determinism()
    if arguments.check:
        differing = check()
        print("differs: " + ", ".join(differing) if differing else "every file is the same")
        return 1 if differing else 0
    make(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
