/* One acquisition: refuse or run, report, end. */
#include <string.h>

#include "board.h"
#include "frames.h"
#include "framing.h"
#include "helx_model.h"
#include "loader_block.h"
#include "measure.h"
#include "runner.h"
#include "sha256.h"

/* The board's staging address, from the linker script. */
extern const uint8_t __helx_staging[];

volatile uint32_t helx_invocation = HELX_NO_INVOCATION;

static helx_loader_block block;

static uint32_t Padded(uint32_t bytes) {
  return (bytes + HELX_LOADER_ALIGNMENT - 1) & ~(HELX_LOADER_ALIGNMENT - 1);
}

static void ReportStart(void) {
  const uint32_t cpuid = *(volatile const uint32_t*)0xe000ed00u;
  helx_frame_begin(HELX_FRAME_START);
  helx_frame_put_u32(HELX_PROTOCOL_VERSION);
  helx_frame_put(helx_request_digest, 32);
  helx_frame_put_u32(cpuid);
  helx_frame_put_u32(helx_the_model.input_count);
  helx_frame_put_u32(helx_the_model.output_count);
  helx_frame_end();
}

__attribute__((noreturn)) static void Refuse(uint32_t reason, uint32_t detail, uint32_t other,
                                             const uint8_t* digest) {
  static const uint8_t kNone[32];
  helx_frame_begin(HELX_FRAME_REFUSAL);
  helx_frame_put_u32(reason);
  helx_frame_put_u32(detail);
  helx_frame_put_u32(other);
  helx_frame_put(digest ? digest : kNone, 32);
  helx_frame_end();
  helx_frames_finish(HELX_FINAL_REFUSED);
}

static void CheckBlock(void) {
  memcpy(&block, __helx_staging, sizeof(block));
  if (block.magic != HELX_LOADER_MAGIC) {
    Refuse(HELX_REFUSE_NO_LOADER_BLOCK, block.magic, HELX_LOADER_MAGIC, 0);
  }
  if (block.version != HELX_LOADER_VERSION) {
    Refuse(HELX_REFUSE_LOADER_VERSION, block.version, HELX_LOADER_VERSION, 0);
  }
  const uint32_t crc = helx_crc32(&block, sizeof(block) - sizeof(block.crc));
  if (block.crc != crc) Refuse(HELX_REFUSE_LOADER_CRC, block.crc, crc, 0);
  if (block.samples == 0 || block.samples > HELX_SAMPLES_MAX || block.warmup > HELX_WARMUP_MAX ||
      block.state > HELX_STATE_CARRY || block.capture > 1) {
    Refuse(HELX_REFUSE_ACQUISITION, block.warmup, block.samples, 0);
  }
  if (block.input_set_count != helx_input_set_count ||
      (block.input_set_count != 1 &&
       (block.input_set_count != block.samples || block.warmup != 0))) {
    Refuse(HELX_REFUSE_INPUT_SETS, block.input_set_count, helx_input_set_count, 0);
  }
}

/* Every loaded input hashes to the digest compiled into the image, or nothing is invoked. */
static void CheckInputs(void) {
  uint32_t set_bytes = 0;
  for (uint32_t i = 0; i < helx_the_model.input_count; ++i) {
    set_bytes += Padded(helx_the_model.inputs[i].bytes);
  }
  if (block.input_bytes != set_bytes * block.input_set_count) {
    Refuse(HELX_REFUSE_INPUT_LAYOUT, block.input_bytes, set_bytes * block.input_set_count, 0);
  }
  const uint8_t* bytes = __helx_staging + HELX_LOADER_INPUT_OFFSET;
  const uint8_t(*expected)[32] = helx_input_digests;
  for (uint32_t set = 0; set < block.input_set_count; ++set) {
    for (uint32_t i = 0; i < helx_the_model.input_count; ++i, ++expected) {
      uint8_t digest[32];
      helx_sha256_of(bytes, helx_the_model.inputs[i].bytes, digest);
      if (memcmp(digest, *expected, 32) != 0) Refuse(HELX_REFUSE_INPUT_DIGEST, set, i, digest);
      bytes += Padded(helx_the_model.inputs[i].bytes);
    }
  }
}

static void Poison(void) {
  for (uint32_t r = 0; r < helx_the_model.region_count; ++r) {
    const helx_region* region = &helx_the_model.regions[r];
    uint8_t* bytes = region->data;
    uint32_t i = 0;
    for (; i + 4 <= region->bytes; i += 4) memcpy(bytes + i, &block.poison, 4);
    memcpy(bytes + i, &block.poison, region->bytes - i);
  }
}

static void RefillInputs(uint32_t set) {
  const uint32_t set_bytes = block.input_bytes / block.input_set_count;
  const uint8_t* bytes = __helx_staging + HELX_LOADER_INPUT_OFFSET + set * set_bytes;
  for (uint32_t i = 0; i < helx_the_model.input_count; ++i) {
    const helx_tensor* input = &helx_the_model.inputs[i];
    memcpy(input->data, bytes, input->bytes);
    bytes += Padded(input->bytes);
  }
}

/* Instructions between the two reads of the counter that are not the invocation's own. */
static uint32_t window_overhead;

/* Calls invoke; the instructions between the two reads of the counter. */
static uint64_t Measure(uint32_t (*invoke)(void), helx_window* window, uint32_t* status) {
  const uint64_t before = helx_board_ticks(*helx_board_counter);
  *status = helx_measure(invoke, helx_board_counter, window);
  /* High words are read outside the window, so that they cost it nothing. The start's follows from `before`: between the
   * two the low word passed through zero at most once. */
  const uint64_t end = helx_board_ticks(window->end);
  const uint64_t start = before + (uint32_t)(window->start - (uint32_t)before);
  return helx_board_instructions(end) - helx_board_instructions(start);
}

static void Calibrate(void) {
  helx_window window;
  uint32_t status;
  const uint64_t first = Measure(helx_measure_nothing, &window, &status);
  const uint64_t second = Measure(helx_measure_nothing, &window, &status);
  if (first != second || first < 2 || first > 64) {
    Refuse(HELX_REFUSE_COUNTER, (uint32_t)first, (uint32_t)second, 0);
  }
  window_overhead = (uint32_t)first - 1; /* the return is the invocation's own */
}

static void ReportReady(void) {
  helx_frame_begin(HELX_FRAME_READY);
  helx_frame_put_u32(block.warmup);
  helx_frame_put_u32(block.samples);
  helx_frame_put_u32(block.state);
  helx_frame_put_u32(block.capture);
  helx_frame_put_u32(block.poison);
  helx_frame_put_u32(block.input_set_count);
  helx_frame_end();
}

static void ReportOutput(uint32_t sample, uint32_t index, const helx_tensor* output) {
  uint8_t digest[32];
  helx_sha256_of(output->data, output->bytes, digest);
  helx_frame_begin(HELX_FRAME_SIGNATURE);
  helx_frame_put_u32(sample);
  helx_frame_put_u32(index);
  helx_frame_put_u32(output->bytes);
  helx_frame_put(digest, 32);
  helx_frame_end();
  if (!block.capture) return;
  const uint8_t* bytes = output->data;
  for (uint32_t offset = 0; offset < output->bytes;) {
    const uint32_t left = output->bytes - offset;
    const uint32_t count = left < HELX_DATA_BYTES_MAX ? left : HELX_DATA_BYTES_MAX;
    helx_frame_begin(HELX_FRAME_DATA);
    helx_frame_put_u32(sample);
    helx_frame_put_u32(index);
    helx_frame_put_u32(offset);
    helx_frame_put(bytes + offset, count);
    helx_frame_end();
    offset += count;
  }
}

__attribute__((noreturn)) static void OperatorError(uint32_t status) {
  helx_frame_begin(HELX_FRAME_OPERATOR_ERROR);
  helx_frame_put_u32(helx_invocation);
  helx_frame_put_u32(status - 1);
  helx_frame_end();
  helx_frames_finish(HELX_FINAL_OPERATOR_ERROR);
}

static void ResetVariables(void) {
  if (helx_the_model.reset_variables != 0) helx_the_model.reset_variables();
}

/* One invocation, the same whether or not it is reported; its instructions. */
static uint64_t Invoke(uint32_t set, uint32_t* stack_bytes) {
  helx_window window;
  uint32_t status;
  Poison();
  RefillInputs(set);
  if (block.state == HELX_STATE_RESET) ResetVariables();
  helx_stack_paint(__helx_stack_limit);
  helx_board_limit((uint64_t)block.limit_high << 32 | block.limit_low);
  const uint64_t instructions = Measure(helx_the_model.invoke, &window, &status);
  helx_board_limit(0);
  if (status != 0) OperatorError(status);
  const uint32_t used = window.stack - helx_stack_lowest(__helx_stack_limit, window.stack);
  if (used > *stack_bytes) *stack_bytes = used;
  return instructions - window_overhead;
}

static void ReportStack(uint32_t invoke_bytes) {
  const uint32_t top = (uint32_t)__helx_stack_top;
  helx_frame_begin(HELX_FRAME_STACK);
  helx_frame_put_u32(invoke_bytes);
  helx_frame_put_u32(top - helx_stack_lowest(__helx_stack_limit, top));
  helx_frame_put_u32(top - (uint32_t)__helx_stack_limit);
  helx_frame_end();
}

void helx_run(void) {
  helx_frames_begin();
  ReportStart();
  CheckBlock();
  CheckInputs();
  Calibrate();
  ReportReady();
  uint32_t stack_bytes = 0;
  if (block.state == HELX_STATE_CARRY) ResetVariables();
  for (uint32_t n = 0; n < block.warmup + block.samples; ++n) {
    const uint32_t sample = n - block.warmup;
    helx_invocation = n;
    const uint64_t instructions = Invoke(block.input_set_count == 1 ? 0 : sample, &stack_bytes);
    helx_invocation = HELX_NO_INVOCATION;
    if (n < block.warmup) {
      helx_frame_begin(HELX_FRAME_WARMUP);
      helx_frame_put_u32(n + 1);
      helx_frame_end();
      continue;
    }
    helx_frame_begin(HELX_FRAME_SAMPLE);
    helx_frame_put_u32(sample);
    helx_frame_put_u64(instructions);
    helx_frame_end();
    for (uint32_t i = 0; i < helx_the_model.output_count; ++i) {
      ReportOutput(sample, i, &helx_the_model.outputs[i]);
    }
  }
  ReportStack(stack_bytes);
  helx_frames_finish(HELX_FINAL_COMPLETE);
}

void helx_report_limit(void) {
  helx_frame_begin(HELX_FRAME_LIMIT);
  helx_frame_put_u32(helx_invocation);
  helx_frame_put_u64((uint64_t)block.limit_high << 32 | block.limit_low);
  helx_frame_end();
  helx_frames_finish(HELX_FINAL_LIMIT);
}

void helx_report_fault(const uint32_t* frame) {
  uint32_t exception;
  __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
  const uint32_t cfsr = *(volatile const uint32_t*)0xe000ed28u;
  /* No exception frame was written after a stack overflow (UFSR.STKOF) or a failed stacking (MSTKERR, STKERR). */
  const uint32_t unstacked = cfsr & (1u << 20 | 1u << 12 | 1u << 4);
  const uint32_t readable = unstacked == 0 && frame >= __helx_stack_limit &&
                            frame + 8 <= __helx_stack_top && ((uint32_t)frame & 3) == 0;
  helx_frame_begin(HELX_FRAME_FAULT);
  helx_frame_put_u32(exception);
  helx_frame_put_u32(cfsr);
  helx_frame_put_u32(*(volatile const uint32_t*)0xe000ed2cu); /* HFSR */
  helx_frame_put_u32(*(volatile const uint32_t*)0xe000ed34u); /* MMFAR */
  helx_frame_put_u32(*(volatile const uint32_t*)0xe000ed38u); /* BFAR */
  helx_frame_put_u32(readable ? frame[6] : 0);                /* PC */
  helx_frame_put_u32(readable ? frame[5] : 0);                /* LR */
  helx_frame_put_u32(readable ? frame[7] : 0);                /* xPSR */
  helx_frame_put_u32((uint32_t)frame);
  helx_frame_put_u32(readable);
  helx_frame_put_u32(helx_invocation);
  helx_frame_end();
  helx_frames_finish(HELX_FINAL_FAULT);
}
