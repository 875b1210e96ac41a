package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.tokens.Tokenizer;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Tokenizer and chat template from a model's files. */
final class FileText implements ModelText {
  private static final String DEMO = "/models/kvasir-demo/";

  private final Tokenizer tokenizer;
  private final int eos;

  private FileText(byte[] tokenizerJson, byte[] configJson) throws IOException {
    tokenizer = Tokenizer.of(tokenizerJson);
    JsonNode config = new ObjectMapper().readTree(configJson);
    JsonNode named = config.path("eos_token");
    String end = named.isObject() ? named.path("content").asText() : named.asText();
    int[] ids = tokenizer.encode(end, false);
    if (end.isEmpty() || ids.length != 1) {
      throw new IOException("tokenizer_config.json: eos_token '" + end + "' is not one token");
    }
    eos = ids[0];
  }

  /** The model in {@code directory}, or the demo model when that is null. */
  static FileText load(@Nullable Path directory) throws IOException {
    return new FileText(read(directory, "tokenizer.json"), read(directory, "tokenizer_config.json"));
  }

  private static byte[] read(@Nullable Path directory, String name) throws IOException {
    if (directory != null) {
      return Files.readAllBytes(directory.resolve(name));
    }
    try (InputStream in = FileText.class.getResourceAsStream(DEMO + name)) {
      if (in == null) {
        throw new FileNotFoundException("The resource " + DEMO + name + " is missing from the jar");
      }
      return in.readAllBytes();
    }
  }

  @Override
  public int[] encode(String text, boolean special) {
    return tokenizer.encode(text, special);
  }

  @Override
  public String decode(int[] tokens) {
    return tokenizer.decode(tokens);
  }

  @Override
  public String render(ObjectNode request) {
    StringBuilder text = new StringBuilder();
    for (JsonNode message : request.path("messages")) {
      text.append("<|im_start|>").append(message.path("role").asText()).append('\n');
      text.append(message.path("content").asText()).append("<|im_end|>\n");
    }
    if (request.path("add_generation_prompt").asBoolean(true)) {
      text.append("<|im_start|>assistant\n");
    }
    return text.toString();
  }

  @Override
  public int eos() {
    return eos;
  }
}
