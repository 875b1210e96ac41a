/**
 * The commands of {@code kvasir} that run something, one class each: a router node ({@code serve}, {@code picker},
 * {@code demo}), the check of a configuration ({@code validate}), a simulated engine ({@code sim}), the laboratory
 * ({@code lab}, {@code replay}), what the JVM is to learn of these before it serves ({@code train}); and {@code
 * version}. Classes named {@code *Options} are groups of options of {@code sim}. A command reads its options, builds
 * what they describe and waits; an exception with a message for people ends it.
 */
@NullMarked
package io.kvasir.app.command;

import org.jspecify.annotations.NullMarked;
