package io.kvasir.gateway.request;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.access.Caller;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.index.Chain;
import io.kvasir.programs.PrefixPrograms;
import io.kvasir.programs.ProgramMark;
import io.kvasir.programs.ProgramReader;
import io.kvasir.programs.ProgramSources;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What recognising a request's program costs: reading its name from the headers or the body by the lists that ship,
 * and, for one that names none, finding the prompt that its own begins with among those of 10,000 programs. Run with
 * {@code java -cp target/test-classes:target/classes:<test class path> org.openjdk.jmh.Main
 * ProgramRecognitionBenchmark -prof gc}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Xmx512m")
public class ProgramRecognitionBenchmark {
  private static final int PROGRAMS = 10_000;
  private static final int BLOCK = 16;

  /** Of a turn of 100,000 tokens, and how many of them are new in each turn. */
  private static final int BLOCKS = 100_000 / BLOCK;

  private static final int NEW_BLOCKS = 2_000 / BLOCK;
  private static final int TURNS = 50;

  private final ProgramReader reader = new ProgramReader(sources());
  private final HttpRequestFacts byHeader = facts("X-Claude-Code-Session-Id", "{\"model\":\"m\"}");
  private final HttpRequestFacts byField =
      facts("X-Other", "{\"model\":\"m\",\"prompt_cache_key\":\"agent-0123456789\"}");
  private final HttpRequestFacts unnamed = facts("X-Other", "{\"model\":\"m\"}");
  private final PrefixPrograms prefixes = new PrefixPrograms(PROGRAMS);
  private final Chain[] turns = new Chain[TURNS];
  private long begun;
  private int turn;

  @Setup(Level.Trial)
  public void fill() {
    SplittableRandom random = new SplittableRandom(1);
    for (int program = 0; program < PROGRAMS; program++) {
      String _ = prefixes.of("", new Chain(random.longs(BLOCK * 8).toArray(), BLOCK));
    }
    long[] hashes = random.longs(BLOCKS + TURNS * NEW_BLOCKS).toArray();
    for (int each = 0; each < turns.length; each++) {
      turns[each] = new Chain(Arrays.copyOf(hashes, BLOCKS + each * NEW_BLOCKS), BLOCK);
    }
  }

  @Benchmark
  public ProgramMark namedInAHeader() {
    return read(byHeader);
  }

  @Benchmark
  public ProgramMark namedInTheBody() {
    return read(byField);
  }

  @Benchmark
  public ProgramMark notNamed() {
    return read(unnamed);
  }

  /** The next turn of a program; after the last one the first again, which begins another. */
  @Benchmark
  public @Nullable String nextTurnByItsPrompt() {
    turn = (turn + 1) % turns.length;
    return prefixes.of("", turns[turn]);
  }

  /** A prompt that continues none: all of its steps are looked up. */
  @Benchmark
  public @Nullable String firstTurnByItsPrompt() {
    begun++;
    return prefixes.of(Long.toString(begun), turns[0]);
  }

  private ProgramMark read(HttpRequestFacts facts) {
    return reader.read(facts::header, facts::field, facts.tenant());
  }

  private static ProgramSources sources() {
    Config programs =
        ConfigFactory.parseResources(ProgramRecognitionBenchmark.class.getClassLoader(), "defaults/programs.conf")
            .getConfig("kvasir.programs");
    return new ProgramSources(
        programs.getStringList("headers"), programs.getStringList("fields"), programs.getStringList("parent-headers"),
        programs.getStringList("parent-fields"), programs.getStringList("last-headers"));
  }

  /** Of a request with the headers of an agent's SDK, one of which is the given one. */
  private static HttpRequestFacts facts(String header, String json) {
    Headers headers =
        Headers.of(
            "Host", "localhost:8080", "Accept", "application/json", "Content-Type", "application/json", "User-Agent",
            "OpenAI/Python 1.99.0", "X-Stainless-Lang", "python", "X-Stainless-OS", "Linux", "X-Stainless-Arch", "x64",
            "X-Stainless-Runtime", "CPython", "X-Stainless-Async", "false", "Content-Length", "242000", header,
            "0f8fad5b-d9cb-469f-a165-70867728950e");
    try {
      JsonNode body = new ObjectMapper().readTree(json);
      return new HttpRequestFacts(
          headers, ApiPath.CHAT, body, InetAddress.getLoopbackAddress(), Caller.anonymous(false), List.of(), false);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
