package io.kvasir.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** What real engines sent, in the order it was seen: vLLM 0.32.0, 120 requests, where no other is named. */
public final class Recording {
  private Recording() {}

  /** Every line of the recording: requests, events, the reset and the replay. */
  public static List<JsonNode> lines() throws IOException {
    return lines("vllm-0.32.0");
  }

  /**
   * The same of a model with a layer of full attention and one with a window of 256 tokens, by an engine of 160 blocks,
   * whose 150 requests go on from others, part from them, repeat them and evict them: requests and events.
   */
  public static List<JsonNode> slidingWindow() throws IOException {
    return lines("vllm-0.32.0-sliding-window");
  }

  /**
   * The same of a model with a layer of full attention and one with a state, the short convolution of an LFM2, which
   * vLLM keeps in mode {@code align}.
   */
  public static List<JsonNode> state() throws IOException {
    return lines("vllm-0.32.0-state");
  }

  /**
   * The same of SGLang 0.5.23 with pages of 16 tokens and room for 192, whose 150 requests go on from others, part from
   * them, repeat them and evict them, some with a salt: requests and events.
   */
  public static List<JsonNode> sglang() throws IOException {
    return lines("sglang-0.5.23");
  }

  /** Those of one recording, such as {@code vllm-0.33.0-eagle}. */
  public static List<JsonNode> lines(String name) throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    ObjectMapper mapper = new ObjectMapper();
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(
                    Objects.requireNonNull(Recording.class.getResourceAsStream("/events/" + name + ".jsonl.gz"))),
                StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        lines.add(mapper.readTree(line));
      }
    }
    return lines;
  }

  /** The published messages. */
  public static Stream<Message> events() throws IOException {
    return lines().stream().filter(line -> line.get("kind").asText().equals("event")).map(Recording::message);
  }

  /** The message of an event or replay line: number and payload are its last two frames. */
  public static Message message(JsonNode line) {
    JsonNode frames = line.get("frames");
    return new Message(
        Long.parseUnsignedLong(frames.get(frames.size() - 2).asText(), 16),
        HexFormat.of().parseHex(frames.get(frames.size() - 1).asText()));
  }

  public record Message(long sequence, byte[] payload) {}
}
