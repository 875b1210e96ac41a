/**
 * What the commands have of llm-d's endpoint picker: its files ({@link io.kvasir.app.llmd.LlmdFile}) and its arguments
 * ({@link io.kvasir.app.llmd.LlmdPicker}) as a configuration of Kvasir.
 */
@NullMarked
package io.kvasir.app.llmd;

import org.jspecify.annotations.NullMarked;
