/** What commands show people on a terminal. */
@NullMarked
package io.kvasir.app.terminal;

import org.jspecify.annotations.NullMarked;
