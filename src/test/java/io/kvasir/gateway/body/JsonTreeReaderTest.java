package io.kvasir.gateway.body;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.RequestMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class JsonTreeReaderTest {
  private static final JsonMapper JACKSON =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();
  private static final String[] SCALARS = {
    "1", "-0", "2147483648", "-9223372036854775808", "123456789012345678901234567890", "1.50", "1e400", "0.1", "true",
    "false", "null", "\"\"", "\"text\"", "\"Grüße 漢字 \\ud83d\\ude00 \\ud800\"", "\"a\\n\\\"b\\\\\""
  };

  private final JsonTreeReader reader = new JsonTreeReader();

  /** Memory with a limit, which counts what was booked. */
  private static final class CountedMemory implements RequestMemory {
    private final long limit;
    private long booked;
    private long most;

    CountedMemory(long limit) {
      this.limit = limit;
    }

    @Override
    public boolean tryBook(long bytes) {
      if (booked + bytes > limit) {
        return false;
      }
      booked += bytes;
      most = Math.max(most, booked);
      return true;
    }

    @Override
    public boolean couldBook(long bytes) {
      return booked + bytes <= limit;
    }

    @Override
    public Shortage shortage(long bytes) {
      return new Shortage(booked + bytes, limit);
    }

    @Override
    public void free(long bytes) {
      booked -= bytes;
    }
  }

  @Test
  void trees_areThoseThatJacksonReads_andSoAreFaults() throws Exception {
    Random random = new Random(14);
    int faults = 0;
    for (int i = 0; i < 5000; i++) {
      byte[] json = json(random, 5).getBytes(StandardCharsets.UTF_8);
      for (int change = random.nextInt(3); change > 0; change--) {
        json[random.nextInt(json.length)] = (byte) " {}[],:\"1ax".charAt(random.nextInt(11));
      }
      JsonNode expected = jackson(json);
      if (expected == null) {
        faults++;
        assertThatThrownBy(() -> reader.read(json, RequestMemory.UNCOUNTED))
            .as(new String(json, StandardCharsets.UTF_8))
            .isInstanceOfSatisfying(
                JsonProcessingException.class, fault -> assertThat(fault.getLocation()).isNotNull());
      } else {
        assertThat(reader.read(json, RequestMemory.UNCOUNTED)).isEqualTo(expected);
      }
    }
    assertThat(faults).isBetween(500, 4500);
  }

  @Test
  void texts_areThoseThatJacksonReads_andSoAreTheirFaults() throws Exception {
    Random random = new Random(15);
    int faults = 0;
    for (int i = 0; i < 20_000; i++) {
      ByteArrayOutputStream json = new ByteArrayOutputStream();
      json.writeBytes("{\"n\":\"".getBytes(StandardCharsets.UTF_8));
      for (int pieces = random.nextInt(5); pieces > 0; pieces--) {
        json.writeBytes(pieceOfText(random));
      }
      json.writeBytes((random.nextInt(50) == 0 ? "" : "\", \"m\": [\"a\"]}").getBytes(StandardCharsets.UTF_8));
      byte[] bytes = json.toByteArray();
      String as = new String(bytes, StandardCharsets.ISO_8859_1);
      try {
        JsonNode expected = JACKSON.readTree(bytes);
        assertThat(reader.read(bytes, RequestMemory.UNCOUNTED)).as(as).isEqualTo(expected);
      } catch (JsonProcessingException expected) {
        faults++;
        assertThatThrownBy(() -> reader.read(bytes, RequestMemory.UNCOUNTED))
            .as(as)
            .isInstanceOfSatisfying(
                JsonProcessingException.class,
                fault -> {
                  assertThat(fault.getOriginalMessage()).isEqualTo(expected.getOriginalMessage());
                  assertThat(fault.getLocation().getColumnNr()).isEqualTo(expected.getLocation().getColumnNr());
                });
      }
    }
    assertThat(faults).isBetween(2_000, 18_000);
  }

  private static byte[] pieceOfText(Random random) {
    return switch (random.nextInt(12)) {
      case 0 -> new byte[] {(byte) (128 + random.nextInt(128)), (byte) random.nextInt(256)};
      case 1 -> new byte[] {(byte) random.nextInt(random.nextInt(4) == 0 ? 32 : 128)};
      default -> text(random).getBytes(StandardCharsets.UTF_8);
    };
  }

  private static String text(Random random) {
    String[] escapes = {
      "\\n", "\\\"", "\\\\", "\\/", "\\t\\r\\b\\f", "\\u0041", "\\u00e9", "\\u6f22", "\\uFFFD",
      "\\ud83d\\ude00",
      "\\u0000", "\\ud83d", "\\ude00", "\\ud83dx", "\\x", "\\u12", "\\u12g4", "\\"
    };
    return switch (random.nextInt(8)) {
      case 0, 1, 2 -> "The quick brown fox; ".repeat(3).substring(0, random.nextInt(60));
      case 3 -> "Grüße";
      case 4 -> "漢字 \uD83D\uDE00 \u007f\uFFFD";
      // Only the well-formed ones half of the time.
      default -> escapes[random.nextInt(random.nextBoolean() ? 10 : escapes.length)];
    };
  }

  @Test
  void nothing_isMissing() throws Exception {
    assertThat(reader.read(new byte[0], RequestMemory.UNCOUNTED).isMissingNode()).isTrue();
    assertThat(reader.read("  ".getBytes(StandardCharsets.UTF_8), RequestMemory.UNCOUNTED).isMissingNode()).isTrue();
  }

  @Test
  void nodes_areBookedBeforeTheyAreMade() throws Exception {
    byte[] json = ("[" + "{},".repeat(1_000_000) + "1]").getBytes(StandardCharsets.UTF_8);
    CountedMemory enough = new CountedMemory(Long.MAX_VALUE);
    assertThat(reader.read(json, enough)).hasSize(1_000_001);
    assertThat(enough.booked / json.length).as("times the JSON").isBetween(60L, 200L);

    CountedMemory little = new CountedMemory(1 << 20);
    assertThatThrownBy(() -> reader.read(json, little))
        .isInstanceOfSatisfying(
            JsonTreeReader.OutOfMemoryBudgetException.class, refused -> assertThat(refused.fitsAlone()).isFalse());
    assertThat(little.most).isBetween(1L << 19, 1L << 20);
    assertThat(little.booked).as("bytes of what is not kept").isZero();
  }

  @Test
  void ordinaryRequest_isBookedInOneStep() throws Exception {
    String message = "{\"role\":\"user\",\"content\":\"" + "word ".repeat(50) + "\"},";
    String messages = message.repeat(6);
    CountedMemory memory = new CountedMemory(8 << 10);
    reader.read(("{\"model\":\"m\",\"messages\":[" + messages + "{}]}").getBytes(StandardCharsets.UTF_8), memory);
    assertThat(memory.booked).isEqualTo(8 << 10);
  }

  private static @Nullable JsonNode jackson(byte[] json) throws IOException {
    try {
      return JACKSON.readTree(json);
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  private static String json(Random random, int depth) {
    StringBuilder text = new StringBuilder();
    int size = random.nextInt(4);
    switch (depth == 0 ? 2 : random.nextInt(3)) {
      case 0 -> {
        text.append('{');
        for (int i = 0; i < size; i++) {
          // Now and then a name twice.
          text.append(i == 0 ? "" : ",").append("\"n").append(random.nextInt(5)).append("\" : ");
          text.append(json(random, depth - 1));
        }
        text.append('}');
      }
      case 1 -> {
        text.append('[');
        for (int i = 0; i < size; i++) {
          text.append(i == 0 ? "" : " , ").append(json(random, depth - 1));
        }
        text.append(']');
      }
      default -> text.append(SCALARS[random.nextInt(SCALARS.length)]);
    }
    return text.toString();
  }
}
