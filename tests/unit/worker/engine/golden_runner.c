/* Runs a generated model on the host: golden_runner PREFIX reset|carry CASE_FOLDER...; reads input-I.bin of each folder and
 * writes PREFIX<case>-<output>.bin. Variables are reset before every case, or before the first one only. */
#include <stdio.h>
#include <string.h>

#include "helx_model.h"

static int transfer(const char* path, const char* mode, void* data, uint32_t bytes) {
  FILE* file = fopen(path, mode);
  size_t done;
  if (!file) return 0;
  done = mode[0] == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file);
  return fclose(file) == 0 && done == bytes;
}

int main(int argc, char** argv) {
  const helx_model* model = &helx_the_model;
  char path[4096];
  for (int c = 3; c < argc; ++c) {
    for (uint32_t r = 0; r < model->region_count; ++r) {
      memset(model->regions[r].data, 0xa5, model->regions[r].bytes);
    }
    for (uint32_t i = 0; i < model->input_count; ++i) {
      snprintf(path, sizeof path, "%s/input-%u.bin", argv[c], (unsigned)i);
      if (!transfer(path, "rb", model->inputs[i].data, model->inputs[i].bytes)) return 2;
    }
    if (c == 3 || strcmp(argv[2], "reset") == 0) model->reset_variables();
    if (model->invoke() != 0) return 3;
    for (uint32_t o = 0; o < model->output_count; ++o) {
      snprintf(path, sizeof path, "%s%d-%u.bin", argv[1], c - 3, (unsigned)o);
      if (!transfer(path, "wb", model->outputs[o].data, model->outputs[o].bytes)) return 4;
    }
  }
  return 0;
}
