/**
 * The command line over a running router's admin API: {@code kvasir admin} and {@code kvasir cluster}. Each command is
 * a class; {@code AdminClient} sends its request, and it prints the answer as a table or as JSON. Beside them {@code
 * kvasir doctor}, which asks a router for its engines and examines them ({@code io.kvasir.doctor}), and {@code kvasir
 * keys}, which makes and changes clients' keys in a file or at a router.
 */
@NullMarked
package io.kvasir.app.admin;

import org.jspecify.annotations.NullMarked;
