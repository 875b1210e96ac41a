/**
 * The checks of {@code kvasir doctor}: each is a class that finds one kind of fault in an {@link
 * io.kvasir.doctor.exam.Examination}, and says why it matters and which flag or line mends it. Checks judge what was
 * gathered; they ask nobody. {@link io.kvasir.doctor.check.Checks#ALL} lists them, which is also what the documentation
 * is compared with.
 */
@NullMarked
package io.kvasir.doctor.check;

import org.jspecify.annotations.NullMarked;
