package io.kvasir.prompt.tokens;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;

/** The tokenizers of the tests. */
public final class Samples {
  private Samples() {}

  public static Tokenizer demo() {
    return read("/models/kvasir-demo/tokenizer.json");
  }

  public static Tokenizer tokenizer(String name) {
    return read("/tokenizers/" + name + ".json");
  }

  private static Tokenizer read(String resource) {
    try {
      return Tokenizer.of(bytes(resource));
    } catch (IOException e) {
      throw new UncheckedIOException(resource, e);
    }
  }

  public static byte[] bytes(String resource) {
    try (InputStream in = Objects.requireNonNull(Samples.class.getResourceAsStream(resource), resource)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
