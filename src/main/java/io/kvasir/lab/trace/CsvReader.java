package io.kvasir.lab.trace;

import java.io.BufferedReader;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Tables of requests with times and lengths: Azure's traces of LLM inference (2023 and 2024: {@code
 * TIMESTAMP,ContextTokens,GeneratedTokens}, times as {@code 2023-11-16 18:17:03.9799600}) and BurstGPT ({@code
 * Timestamp} in seconds, {@code Request tokens}, {@code Response tokens}, with or without a session).
 *
 * <p>They have no prompts: each request's is taken to be its own, and nothing is cached. A request that was answered
 * with nothing counts with an answer of one token. Times count from the earliest.
 */
final class CsvReader {
  private static final LocalDateTime EPOCH = LocalDateTime.of(1970, 1, 1, 0, 0);

  private static final DateTimeFormatter TIME =
      new DateTimeFormatterBuilder()
          .appendPattern("yyyy-MM-dd['T'][ ]HH:mm:ss")
          .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
          .appendPattern("[XXX]")
          .toFormatter();

  private final TraceFormat format;
  private final String time;
  private final String prompt;
  private final String answer;

  /** A reader of {@link TraceFormat#AZURE} or {@link TraceFormat#BURSTGPT}. */
  CsvReader(TraceFormat format) {
    boolean azure = format == TraceFormat.AZURE;
    this.format = format;
    this.time = azure ? "TIMESTAMP" : "Timestamp";
    this.prompt = azure ? "ContextTokens" : "Request tokens";
    this.answer = azure ? "GeneratedTokens" : "Response tokens";
  }

  /**
   * Reads a table whose header is the first line.
   *
   * @throws IllegalArgumentException naming the line, the column and what was expected
   */
  List<TraceLine> read(BufferedReader in) throws IOException {
    String header = in.readLine();
    List<String> columns =
        header == null ? List.of() : Arrays.stream(header.split(",", -1)).map(String::strip).toList();
    int times = column(columns, time);
    int prompts = column(columns, prompt);
    int answers = column(columns, answer);
    List<TraceLine> lines = new ArrayList<>();
    int number = 1;
    double earliest = Double.POSITIVE_INFINITY;
    for (String row = in.readLine(); row != null; row = in.readLine()) {
      number++;
      if (!row.isBlank()) {
        String[] cells = row.split(",", -1);
        if (cells.length != columns.size()) {
          throw fault(number, "it", columns.size() + " values with commas between them", row);
        }
        double atMs = millis(cells[times].strip(), number);
        earliest = Math.min(earliest, atMs);
        int input = tokens(cells[prompts], prompt, number);
        lines.add(TraceLine.alone(atMs, input, tokens(cells[answers], answer, number)));
      }
    }
    double begin = earliest;
    lines.replaceAll(line -> TraceLine.alone(line.arrivalMs() - begin, line.input(), line.output()));
    return lines;
  }

  private int column(List<String> columns, String name) {
    int index = columns.indexOf(name);
    if (index < 0) {
      throw fault(1, "the header", "that of " + format + " with a column " + name, String.join(",", columns));
    }
    return index;
  }

  private double millis(String cell, int number) {
    try {
      if (format == TraceFormat.BURSTGPT) {
        return Double.parseDouble(cell) * 1e3;
      }
      return Duration.between(EPOCH, LocalDateTime.parse(cell, TIME)).toNanos() / 1e6;
    } catch (DateTimeException | NumberFormatException malformed) {
      String expected = format == TraceFormat.BURSTGPT ? "seconds" : "a time such as 2023-11-16 18:17:03.98";
      throw fault(number, time, expected, cell);
    }
  }

  private static int tokens(String cell, String name, int number) {
    try {
      int tokens = Integer.parseInt(cell.strip());
      if (tokens >= 0) {
        return Math.max(1, tokens);
      }
    } catch (NumberFormatException malformed) {
      // Named below.
    }
    throw fault(number, name, "a whole number of tokens", cell);
  }

  private static IllegalArgumentException fault(int number, String name, String expected, String value) {
    return new IllegalArgumentException("line " + number + ": " + name + " must be " + expected + ", is " + value);
  }
}
