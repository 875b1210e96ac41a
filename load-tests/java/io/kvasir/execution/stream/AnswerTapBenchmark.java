package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What watching costs, per streamed event of vLLM's size and per megabyte of embeddings. Baseline: nothing;
 * the bytes pass anyway. Run with
 * {@code java -cp target/test-classes:target/classes:<test class path> org.openjdk.jmh.Main AnswerTapBenchmark -prof
 * gc}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(1)
public class AnswerTapBenchmark {
  private final byte[] event = """
      data: {"id":"chatcmpl-8b4ed6d1a2f94f4e","object":"chat.completion.chunk","created":1763715000,\
      "model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,\
      "finish_reason":null}]}

      """.getBytes(StandardCharsets.UTF_8);
  private final byte[] embeddings =
      ("{\"data\":[" + "-0.0123456789,".repeat(75_000) + "0],\"usage\":{\"prompt_tokens\":5}}")
          .getBytes(StandardCharsets.UTF_8);
  private final AnswerTap events = new AnswerTap(AnswerTap.Form.EVENTS);

  @Benchmark
  public boolean event() {
    events.accept(event, 0, event.length);
    return events.firstToken();
  }

  @Benchmark
  public int megabyteOfEmbeddings() {
    AnswerTap tap = new AnswerTap(AnswerTap.Form.JSON);
    tap.accept(embeddings, 0, embeddings.length);
    return tap.promptTokens();
  }
}
