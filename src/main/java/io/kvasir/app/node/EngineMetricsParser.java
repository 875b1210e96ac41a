package io.kvasir.app.node;

import io.kvasir.cell.EngineReport;
import io.kvasir.engines.LoadGauge;
import io.kvasir.routing.Candidates;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A parser of an engine's load in Prometheus' format: each {@link LoadGauge}, by rank. The text comes in pieces and
 * may have thousands of lines, of which only those with these names are parsed; malformed ones are ignored. One thread
 * at a time.
 */
final class EngineMetricsParser {
  private static final VarHandle EIGHT = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;

  private static final Map<String, LoadGauge> NAMES = LoadGauge.byName();

  /** The first eight bytes of the names, which none of them is shorter than. */
  private static final long[] BEGINNINGS =
      NAMES.keySet().stream()
          .mapToLong(name -> (long) EIGHT.get(name.getBytes(StandardCharsets.ISO_8859_1), 0))
          .distinct()
          .toArray();

  /** The labels of engines for their data-parallel ranks. */
  private static final String[] RANKS = {"engine=\"", "dp_rank=\""};

  /** Longer lines are no gauges of load. */
  private static final int MAX_LINE = 8 << 10;

  private final Map<Integer, EngineReport> reports = new HashMap<>();

  /** The beginning of a line whose end is in a later piece. */
  private String begun = "";

  private boolean skipping;

  /** Reads the next piece, which may begin and end within a line. */
  void accept(byte[] bytes, int length) {
    int from = 0;
    int end = lineEnd(bytes, 0, length);
    if (end < length && (skipping || !begun.isEmpty())) {
      if (!skipping) {
        readBegun(text(bytes, 0, end));
      }
      skipping = false;
      begun = "";
      from = end + 1;
      end = lineEnd(bytes, from, length);
    }
    while (end < length) {
      if (mayBeGauge(bytes, from, end)) {
        readLine(text(bytes, from, end));
      }
      from = end + 1;
      end = lineEnd(bytes, from, length);
    }
    if (!skipping) {
      begun = begun + text(bytes, from, length);
      skipping = begun.length() > MAX_LINE;
    }
  }

  /** The load by rank; empty when the text, which ends here, has no known gauge. */
  Map<Integer, EngineReport> finish() {
    if (!skipping) {
      readBegun("");
      begun = "";
    }
    return reports;
  }

  private void readBegun(String rest) {
    String line = begun + rest;
    byte[] bytes = line.getBytes(StandardCharsets.ISO_8859_1);
    if (mayBeGauge(bytes, 0, bytes.length)) {
      readLine(line);
    }
  }

  /** Where the line ends that begins at {@code from}: at a line break, or where the bytes do. */
  private static int lineEnd(byte[] bytes, int from, int length) {
    int at = from;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      // The lowest of the high bits that are set is that of the first line break.
      long eight = (long) EIGHT.get(bytes, at) ^ '\n' * ONES;
      long found = (eight - ONES) & ~eight & HIGHS;
      if (found != 0) {
        return at + (Long.numberOfTrailingZeros(found) >>> 3);
      }
    }
    while (at < length && bytes[at] != '\n') {
      at++;
    }
    return at;
  }

  private static boolean mayBeGauge(byte[] bytes, int from, int to) {
    if (to - from < Long.BYTES) {
      return false;
    }
    long eight = (long) EIGHT.get(bytes, from);
    for (long beginning : BEGINNINGS) {
      if (eight == beginning) {
        return true;
      }
    }
    return false;
  }

  /** A byte is a character, which leaves ASCII as it is. */
  private static String text(byte[] bytes, int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
  }

  private void readLine(String line) {
    int brace = line.indexOf('{');
    int space = line.indexOf(' ');
    int end = brace >= 0 && (space < 0 || brace < space) ? brace : space;
    LoadGauge gauge = end < 0 ? null : NAMES.get(line.substring(0, end));
    if (gauge == null) {
      return;
    }
    int labelsEnd = end == brace ? line.lastIndexOf('}') : end;
    Double value = labelsEnd < end ? null : value(line.substring(labelsEnd + 1));
    if (value == null) {
      return;
    }
    int rank = end == brace ? rank(line.substring(end, labelsEnd)) : 0;
    EngineReport report = switch (gauge) {
      case RUNNING -> new EngineReport((int) (double) value, Candidates.UNKNOWN, Candidates.UNKNOWN);
      case WAITING -> new EngineReport(Candidates.UNKNOWN, (int) (double) value, Candidates.UNKNOWN);
      case KV_USE -> new EngineReport(Candidates.UNKNOWN, Candidates.UNKNOWN, Math.min(1, value));
    };
    reports.merge(rank, report, EngineReport::and);
  }

  /** The value, which a timestamp may follow; null when it is no number that a gauge of load can have. */
  private static @Nullable Double value(String rest) {
    String text = rest.strip();
    int space = text.indexOf(' ');
    try {
      double value = Double.parseDouble(space < 0 ? text : text.substring(0, space));
      return value >= 0 && value < Integer.MAX_VALUE ? value : null;
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static int rank(String labels) {
    for (String name : RANKS) {
      int at = labels.indexOf(name);
      if (at > 0 && (labels.charAt(at - 1) == '{' || labels.charAt(at - 1) == ',')) {
        int from = at + name.length();
        int to = labels.indexOf('"', from);
        try {
          return to < 0 ? 0 : Integer.parseInt(labels, from, to, 10);
        } catch (NumberFormatException e) {
          return 0;
        }
      }
    }
    return 0;
  }
}
