/**
 * {@code kvasir doctor}: a {@link io.kvasir.doctor.Doctor} examines engines, all at the same time (package {@code
 * exam}), runs every check over what was found and what a running router was asked before (package {@code check}), and
 * makes a {@link io.kvasir.doctor.Diagnosis} of their findings.
 */
@NullMarked
package io.kvasir.doctor;

import org.jspecify.annotations.NullMarked;
