/**
 * Measurements of the data path: fake engines that cost next to nothing, a load generator, and the routers
 * between them, each in a process of its own whose CPU is read from the kernel. {@code load-tests/datapath}
 * compares ways to build the relay; {@code load-tests/proxy} compares Kvasir with other routers.
 */
@NullMarked
package io.kvasir.load;

import org.jspecify.annotations.NullMarked;
