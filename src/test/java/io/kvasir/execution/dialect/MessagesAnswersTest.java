package io.kvasir.execution.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Messages that vLLM's own code made of chats' answers, beside ours: those of {@code
 * load-tests/preparation/vllm_answers.py}.
 */
final class MessagesAnswersTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TestFactory
  List<DynamicTest> answers_areThoseOfTheEngine() throws IOException {
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(
            new GZIPInputStream(
                Objects.requireNonNull(MessagesAnswersTest.class.getResourceAsStream("/vllm/answers.jsonl.gz"))),
            StandardCharsets.UTF_8))) {
      return lines.lines().map(line -> DynamicTest.dynamicTest(line, () -> compare(JSON.readTree(line)))).toList();
    }
  }

  private static void compare(JsonNode answer) throws IOException {
    MessagesTranslation translation = new MessagesTranslation(JsonMembers.empty(), JSON.createObjectNode());
    if (answer.has("chat")) {
      JsonNode message = JSON.readTree(translation.whole(bytes(answer.get("chat").toString())));
      assertThat(essence(message)).isEqualTo(essence(answer.get("message")));
      return;
    }
    StringBuilder chat = new StringBuilder();
    answer.get("chunks").forEach(chunk -> chat.append("data: ").append(chunk).append("\n\n"));
    ByteArrayOutputStream translated = new ByteArrayOutputStream();
    Translation.Stream stream = translation.stream(translated::write);
    byte[] all = bytes(chat + "data: [DONE]\n\n");
    stream.accept(all, 0, all.length);
    stream.end();
    ArrayNode events = JSON.createArrayNode();
    for (String line : translated.toString(StandardCharsets.UTF_8).lines().toList()) {
      if (line.startsWith("data: ")) {
        events.add(JSON.readTree(line.substring(6)));
      }
    }
    assertThat(essence(events)).isEqualTo(essence(answer.get("events")));
  }

  /** Without nulls, which one writes and the other leaves out, and with signatures for no more than being there. */
  private static JsonNode essence(JsonNode given) {
    return switch (given) {
      case ArrayNode array -> {
        ArrayNode kept = JsonNodeFactory.instance.arrayNode();
        array.forEach(element -> kept.add(essence(element)));
        yield kept;
      }
      case ObjectNode object -> {
        ObjectNode kept = JsonNodeFactory.instance.objectNode();
        object.properties().forEach(member -> {
          boolean signature = member.getKey().equals("signature");
          if (!member.getValue().isNull() && !(signature && member.getValue().asText().isEmpty())) {
            kept.set(member.getKey(), signature ? kept.textNode("signed") : essence(member.getValue()));
          }
        });
        yield kept;
      }
      default -> given;
    };
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
