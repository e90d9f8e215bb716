/* Layers that carry state from one invocation to the next. */
#ifndef HELX_STATE_H_
#define HELX_STATE_H_

#include <stdint.h>

#endif /* HELX_STATE_H_ */
