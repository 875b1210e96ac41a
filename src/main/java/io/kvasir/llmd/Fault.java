package io.kvasir.llmd;

/**
 * One reason why an EndpointPickerConfig, or the picker's arguments, cannot be translated.
 *
 * @param line the line of the file, counted from 1; 0 where there is none
 * @param part the part that is wrong, such as {@code plugins[2].type}
 * @param problem what is wrong and what to do
 */
public record Fault(int line, String part, String problem) {}
