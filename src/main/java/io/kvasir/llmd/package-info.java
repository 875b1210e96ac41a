/**
 * The translation of llm-d's endpoint picker: its EndpointPickerConfig files and its arguments, into profiles and
 * settings of Kvasir ({@link io.kvasir.llmd.Translator}), and its names for metrics ({@link
 * io.kvasir.llmd.LlmdMetrics}). Every part of a file is accounted for by a {@link io.kvasir.llmd.TranslatedPart}: what
 * does the same here, what differs, what is not needed, and what has no counterpart. A file that llm-d itself would
 * refuse, or that names plugins nobody knows, is refused with every {@link io.kvasir.llmd.Fault}. This package reads
 * text and writes nothing; it imports no other package of Kvasir.
 */
@NullMarked
package io.kvasir.llmd;

import org.jspecify.annotations.NullMarked;
