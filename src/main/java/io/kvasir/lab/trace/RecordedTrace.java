package io.kvasir.lab.trace;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * A recorded trace as it was published.
 *
 * @param blockSize tokens in a block
 * @param lines the requests, in the order of the file
 */
public record RecordedTrace(int blockSize, List<TraceLine> lines) {
  private static final ObjectReader JSON = new ObjectMapper().readerFor(JsonNode.class);
  private static final int HEAD = 512;
  private static final byte[] PARQUET = {'P', 'A', 'R', '1'};

  public RecordedTrace {
    lines = List.copyOf(lines);
  }

  /**
   * Reads a whole file: JSON lines, a JSON list or a table with commas, gzipped or not, which is told by its first
   * bytes.
   *
   * @param format its format; null to recognise it by its first record
   * @throws IllegalArgumentException naming the file, the line and the field that does not fit
   */
  public static RecordedTrace read(Path file, @Nullable TraceFormat format) throws IOException {
    Path base = file.getFileName();
    try (InputStream raw = new BufferedInputStream(Files.newInputStream(file));
        InputStream in = new BufferedInputStream(unzipped(raw))) {
      byte[] head = head(in);
      refuseParquet(head, String.valueOf(base));
      TraceFormat table = format != null ? format : table(head);
      RecordedTrace trace = table != null && table.isTable() ? table(table, in) : records(format, in);
      if (trace.lines.isEmpty()) {
        throw new IllegalArgumentException("has no requests");
      }
      return trace;
    } catch (JacksonException malformed) {
      throw new IllegalArgumentException(
          base + ": line " + malformed.getLocation().getLineNr() + " is no JSON: " + malformed.getOriginalMessage(),
          malformed);
    } catch (IllegalArgumentException malformed) {
      throw new IllegalArgumentException(base + ": " + malformed.getMessage(), malformed);
    }
  }

  private static InputStream unzipped(InputStream raw) throws IOException {
    byte[] head = head(raw);
    boolean zipped = head.length > 1 && (head[0] & 0xff) == 0x1f && (head[1] & 0xff) == 0x8b;
    return zipped ? new GZIPInputStream(raw) : raw;
  }

  private static byte[] head(InputStream in) throws IOException {
    in.mark(HEAD);
    byte[] head = in.readNBytes(HEAD);
    in.reset();
    return head;
  }

  private static void refuseParquet(byte[] head, String name) {
    if (head.length >= PARQUET.length && Arrays.equals(head, 0, PARQUET.length, PARQUET, 0, PARQUET.length)) {
      throw new IllegalArgumentException(
          "is Parquet, which is not read; make JSON lines of it, for example with duckdb -c \"COPY (SELECT * FROM '"
              + name + "') TO 'trace.jsonl' (FORMAT json)\"");
    }
  }

  private static @Nullable TraceFormat table(byte[] head) {
    return TraceFormat.of(new String(head, StandardCharsets.UTF_8));
  }

  private static RecordedTrace table(TraceFormat format, InputStream in) throws IOException {
    BufferedReader rows = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    return new RecordedTrace(format.blockSize(), new CsvReader(format).read(rows));
  }

  private static RecordedTrace records(@Nullable TraceFormat given, InputStream in) throws IOException {
    List<TraceLine> lines = new ArrayList<>();
    RecordReader reader = null;
    int standard = 0;
    int blockSize = 0;
    try (MappingIterator<JsonNode> records = JSON.readValues(in)) {
      while (records.hasNextValue()) {
        JsonNode json = records.nextValue();
        // Where the record ends; one of several lines is found there, too.
        int number = records.getCurrentLocation().getLineNr();
        if (!json.isObject()) {
          throw new IllegalArgumentException("line " + number + ": must be a JSON object, is " + json.getNodeType());
        }
        if (reader == null) {
          TraceFormat format = given == null ? recognised(json, number) : given;
          reader = format.reader();
          standard = format.blockSize();
        }
        int before = lines.size();
        reader.read(new TraceRecord(json, number), lines);
        for (TraceLine line : lines.subList(before, lines.size())) {
          int size = line.blockSize() > 0 ? line.blockSize() : standard;
          if (blockSize != 0 && size != blockSize) {
            throw new IllegalArgumentException(
                "line " + number + ": block_size must be " + blockSize + " as in the lines before, is " + size);
          }
          blockSize = size;
        }
      }
    }
    return new RecordedTrace(blockSize, lines);
  }

  private static TraceFormat recognised(JsonNode json, int number) {
    TraceFormat format = TraceFormat.of(json);
    if (format == null) {
      List<String> fields = new ArrayList<>();
      json.fieldNames().forEachRemaining(fields::add);
      throw new IllegalArgumentException(
          "line " + number + ": must have the fields of one of the formats " + TraceFormat.names() + ", has "
              + (fields.isEmpty() ? "none" : String.join(", ", fields)));
    }
    return format;
  }
}
