package io.kvasir.programs;

import org.jspecify.annotations.Nullable;

/**
 * What a request says of its program. Immutable, small enough to cross the cluster with the request.
 *
 * @param program its name, unique among all tenants; null when the request has none
 * @param parent the name of the program that started it; null when the request has none
 * @param last whether the program ends with this request
 */
public record ProgramMark(@Nullable String program, @Nullable String parent, boolean last) {
  /** The mark of a request that says nothing. */
  public static final ProgramMark NONE = new ProgramMark(null, null, false);
}
