/** The command line over a running router's admin API: {@code kvasir admin} and {@code kvasir cluster}. */
@NullMarked
package io.kvasir.app.admin;

import org.jspecify.annotations.NullMarked;
