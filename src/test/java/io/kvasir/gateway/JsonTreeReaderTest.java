package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.RequestMemory;
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

    CountedMemory(long limit) {
      this.limit = limit;
    }

    @Override
    public boolean tryBook(long bytes) {
      if (booked + bytes > limit) {
        return false;
      }
      booked += bytes;
      return true;
    }

    @Override
    public boolean couldBook(long bytes) {
      return booked + bytes <= limit;
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
    assertThat(little.booked).isBetween(1L << 19, 1L << 20);
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
