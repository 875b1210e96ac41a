/**
 * The command line over a running router's admin API: {@code kvasir admin} and {@code kvasir cluster}. Each command is
 * a class; {@code AdminClient} sends its request, and it prints the answer as a table or as JSON.
 */
@NullMarked
package io.kvasir.app.admin;

import org.jspecify.annotations.NullMarked;
