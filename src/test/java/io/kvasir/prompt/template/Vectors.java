package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Golden vectors: one JSON object a line. */
public final class Vectors {
  public static final ObjectMapper MAPPER = new ObjectMapper();

  private Vectors() {}

  public static List<JsonNode> read(String resource) throws IOException {
    List<JsonNode> vectors = new ArrayList<>();
    try (InputStream in = Objects.requireNonNull(Vectors.class.getResourceAsStream(resource), resource)) {
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n", -1)) {
        if (!line.isBlank()) {
          vectors.add(MAPPER.readTree(line));
        }
      }
    }
    return vectors;
  }

  @SuppressWarnings("unchecked")
  public static Map<String, Object> map(JsonNode node) {
    return MAPPER.convertValue(node, Map.class);
  }

  public static LocalDateTime time(long unixSeconds) {
    return LocalDateTime.ofEpochSecond(unixSeconds, 0, ZoneOffset.UTC);
  }
}
