package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The tokens of 2 KB of text that is new: lines of this repository in an order that did not occur before. Baseline:
 * {@code library}, the Hugging Face library on the same texts. Run from the repository's root with
 * {@code load-tests/jmh TokenizerBenchmark}, or {@code java --enable-native-access=ALL-UNNAMED -cp
 * target/test-classes:target/classes:… org.openjdk.jmh.Main TokenizerBenchmark}; {@code -p tokenizer=FILE} for another
 * tokenizer.json than the demo model's.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class TokenizerBenchmark {
  @Param("src/main/resources/models/kvasir-demo/tokenizer.json")
  public String tokenizer = "";

  private final Random random = new Random(1);
  private final List<String> lines = new ArrayList<>();
  private Tokenizer ours = Samples.demo();
  private Tokenizer library = ours;
  private String text = "";

  @Setup
  public void load() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
      files.filter(Files::isRegularFile).sorted().forEach(file -> {
        try {
          lines.addAll(Files.readAllLines(file));
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      });
    }
    byte[] json = Files.readAllBytes(Path.of(tokenizer));
    ours = Tokenizer.of(json);
    library =
        NativeTokenizer.of(Files.readString(Path.of(tokenizer)), new ObjectMapper().readTree(json), false);
    next();
    System.out.println(ours.getClass().getSimpleName() + ", " + ours.encode(text, false).length + " tokens");
  }

  @Setup(Level.Invocation)
  public void next() {
    StringBuilder some = new StringBuilder();
    while (some.length() < 2048) {
      some.append(lines.get(random.nextInt(lines.size()))).append('\n');
    }
    text = some.substring(0, 2048);
  }

  @Benchmark
  public int[] ours() {
    return ours.encode(text, false);
  }

  @Benchmark
  public int[] library() {
    return library.encode(text, false);
  }
}
