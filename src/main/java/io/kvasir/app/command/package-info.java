/**
 * The command line: one class per command, and groups of options that commands share.
 */
@NullMarked
package io.kvasir.app.command;

import org.jspecify.annotations.NullMarked;
