/* The audio front end: windows, transforms and filter banks on fixed-point samples. */
#ifndef HELX_SIGNAL_H_
#define HELX_SIGNAL_H_

#include <stdint.h>

#endif /* HELX_SIGNAL_H_ */
