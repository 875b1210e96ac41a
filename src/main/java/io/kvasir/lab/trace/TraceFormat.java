package io.kvasir.lab.trace;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The formats of recorded traces. */
public enum TraceFormat {
  /**
   * Mooncake (kvcache-ai/Mooncake), lines of {@code timestamp} in ms, {@code input_length}, {@code output_length} and
   * {@code hash_ids} of blocks of 512 tokens, the last of which may be partial; with {@code session_id} and {@code
   * delay} in ms after the answer before, as AIPerf writes them.
   */
  MOONCAKE(512),

  /**
   * Qwen-Bailian (alibaba-edu/qwen-bailian-usagetraces-anon), the same with {@code timestamp} in s, blocks of 16
   * tokens, {@code chat_id} and {@code parent_chat_id} (-1 for none).
   */
  BAILIAN(16),

  /** WEKA's sessions of coding agents, see {@link WekaReader}. */
  WEKA(0),

  /** LMCache's agents (lmcache-agentic-traces), see {@link AgentTurnReader}. */
  LMCACHE(64),

  /** AIPerf's conversations ({@code multi_turn}), see {@link AiperfReader}. */
  AIPERF(16),

  /** Conversations of vLLM's {@code benchmark_serving_multi_turn}, see {@link DialogueReader}. */
  VLLM(16),

  /** ShareGPT's conversations, of which SGLang's benchmarks are made, see {@link DialogueReader}. */
  SHAREGPT(16),

  /** Azure's traces of LLM inference, see {@link CsvReader}. */
  AZURE(512),

  /** BurstGPT, see {@link CsvReader}. */
  BURSTGPT(512);

  /** How a format that is to be recognised is written. */
  public static final String AUTO = "auto";

  private final int blockSize;

  TraceFormat(int blockSize) {
    this.blockSize = blockSize;
  }

  /**
   * Reads a format as written, null for {@value #AUTO}.
   *
   * @throws IllegalArgumentException naming the formats
   */
  public static @Nullable TraceFormat parse(String written) {
    if (written.equals(AUTO)) {
      return null;
    }
    return Arrays.stream(values())
        .filter(format -> format.toString().equals(written))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("must be " + AUTO + ", " + names() + ", is " + written));
  }

  /** The formats' names, as written. */
  public static String names() {
    return Arrays.stream(values()).map(TraceFormat::toString).collect(Collectors.joining(", "));
  }

  /** The format of a JSON record, null when it has none. */
  static @Nullable TraceFormat of(JsonNode record) {
    if (record.path("requests").isArray()) {
      return WEKA;
    } else if (record.has("conversations")) {
      return SHAREGPT;
    } else if (record.has("turns")) {
      return AIPERF;
    } else if (record.has("hash_ids") || record.has("input_length")) {
      return record.has("chat_id") ? BAILIAN : MOONCAKE;
    } else if (record.has("output_length") && (record.has("input") || record.has("messages"))) {
      return LMCACHE;
    }
    return record.has("messages") ? VLLM : null;
  }

  /** The format of a table with these column names, null when it has none. */
  static @Nullable TraceFormat of(String header) {
    if (header.startsWith("TIMESTAMP,")) {
      return AZURE;
    }
    return header.startsWith("Timestamp,") ? BURSTGPT : null;
  }

  /** Whether it is a table with commas. */
  boolean isTable() {
    return this == AZURE || this == BURSTGPT;
  }

  /** Tokens in a block where the trace has no size of its own; 0 when it has to. */
  int blockSize() {
    return blockSize;
  }

  /** A reader of JSON records. */
  RecordReader reader() {
    return switch (this) {
      case MOONCAKE -> new MooncakeReader(false);
      case BAILIAN -> new MooncakeReader(true);
      case WEKA -> new WekaReader();
      case LMCACHE -> new AgentTurnReader(blockSize);
      case AIPERF -> new AiperfReader(blockSize);
      case VLLM -> new DialogueReader(blockSize, "messages");
      case SHAREGPT -> new DialogueReader(blockSize, "conversations");
      case AZURE, BURSTGPT -> throw new IllegalStateException(this + " has no JSON records");
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
