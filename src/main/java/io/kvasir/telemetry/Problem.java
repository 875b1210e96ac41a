package io.kvasir.telemetry;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * A problem of a node that its operators have to know, as {@code /ready} and the admin API show it.
 *
 * @param severity how bad it is
 * @param what what is wrong and what follows from it, a sentence without a capital or a full stop
 * @param remedy what to do about it, likewise
 */
public record Problem(Severity severity, String what, String remedy) {
  /** How bad a problem is, the worst first. */
  public enum Severity {
    /** Requests are refused or fail. */
    ERROR,
    /** Requests are served, but not as well as they could be. */
    WARNING
  }

  /** Checks that all parts are present. */
  public Problem {
    Objects.requireNonNull(severity, "severity");
    Objects.requireNonNull(what, "what");
    Objects.requireNonNull(remedy, "remedy");
  }

  /** A problem because of which requests are refused or fail. */
  public static Problem error(String what, String remedy) {
    return new Problem(Severity.ERROR, what, remedy);
  }

  /** A problem with which requests are served all the same. */
  public static Problem warning(String what, String remedy) {
    return new Problem(Severity.WARNING, what, remedy);
  }

  /** The same problems, the worst first. */
  public static List<Problem> worstFirst(List<Problem> problems) {
    return problems.stream().sorted(Comparator.comparing(Problem::severity)).toList();
  }

  /** Names for a sentence, such as {@code a, b and 3 more}: so many of them at most, at least 1. */
  public static String named(Collection<String> names, int most) {
    String first = names.stream().limit(most).collect(Collectors.joining(", "));
    return names.size() > most ? "%s and %,d more".formatted(first, names.size() - most) : first;
  }

  /** What is wrong and the remedy in one line. */
  public String line() {
    return what + "; " + remedy;
  }
}
