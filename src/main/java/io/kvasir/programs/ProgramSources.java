package io.kvasir.programs;

import java.util.List;

/**
 * Where requests name their programs: the first of these that a request has counts, headers before fields of its body
 * (nested ones with dots).
 *
 * @param headers that name the program
 * @param fields likewise
 * @param parentHeaders that name the program which started it
 * @param parentFields likewise
 * @param lastHeaders that say {@code true} or {@code 1} when it ends
 */
public record ProgramSources(
    List<String> headers,
    List<String> fields,
    List<String> parentHeaders,
    List<String> parentFields,
    List<String> lastHeaders) {
  /** Copies the lists. */
  public ProgramSources {
    headers = List.copyOf(headers);
    fields = List.copyOf(fields);
    parentHeaders = List.copyOf(parentHeaders);
    parentFields = List.copyOf(parentFields);
    lastHeaders = List.copyOf(lastHeaders);
  }
}
