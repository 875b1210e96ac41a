package io.kvasir.execution.stream;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.stream.ChoiceListener.Part;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a scan of choices finds, against what a parsed tree has. */
final class ChoiceScanTest {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final String[] TEXTS = {"", "a", " wörd", "\"}],{\n\\", "text\":\"x", "\uD83D\uDE00", "delta"};

  private static final class Found implements ChoiceListener {
    final ByteArrayOutputStream text = new ByteArrayOutputStream();
    final Set<Part> parts = EnumSet.noneOf(Part.class);
    String reason = "";

    @Override
    public void finished(byte[] bytes, int length) {
      reason += new String(bytes, 0, length, StandardCharsets.UTF_8) + ";";
    }

    @Override
    public void part(Part part) {
      parts.add(part);
    }

    @Override
    public void text(byte[] bytes, int from, int to) {
      text.write(bytes, from, to - from);
    }
  }

  @Test
  void anyChoices_whereverCut_areReadAsATreeIs() throws IOException {
    Random random = new Random(4);
    for (int round = 0; round < 3000; round++) {
      ObjectNode event = JsonNodeFactory.instance.objectNode().put("id", "x");
      ArrayNode choices = event.putArray("choices");
      for (int i = random.nextInt(3); i > 0; i--) {
        addChoice(choices.addObject(), random);
      }
      event.putObject("usage").put("prompt_tokens", 3);
      StringBuilder text = new StringBuilder();
      StringBuilder reasons = new StringBuilder();
      Set<Part> parts = EnumSet.noneOf(Part.class);
      for (JsonNode choice : choices) {
        read(choice, text, reasons, parts);
      }

      Found found = new Found();
      JsonScan scan = new JsonScan(found);
      String written = random.nextBoolean() ? event.toPrettyString() : event.toString();
      byte[] bytes = written.getBytes(StandardCharsets.UTF_8);
      for (int at = 0; at < bytes.length; ) {
        int to = Math.min(bytes.length, at + 1 + random.nextInt(20));
        scan.accept(bytes, at, to);
        at = to;
      }

      String json = '"' + found.text.toString(StandardCharsets.UTF_8) + '"';
      assertThat(JSON.readValue(json, String.class)).as(event.toString()).isEqualTo(text.toString());
      assertThat(found.parts).as(event.toString()).isEqualTo(parts);
      assertThat(found.reason).as(event.toString()).isEqualTo(reasons.toString());
      assertThat(scan.complete()).isTrue();
      assertThat(scan.tokens().prompt()).isEqualTo(3);
      assertThat(scan.usageOnly()).isEqualTo(choices.isEmpty());
    }
  }

  private static void addChoice(ObjectNode choice, Random random) {
    if (random.nextBoolean()) {
      choice.put("index", random.nextInt(3));
    }
    if (random.nextBoolean()) {
      addDelta(choice.putObject("delta"), random);
    } else {
      choice.put("text", TEXTS[random.nextInt(TEXTS.length)]);
    }
    switch (random.nextInt(4)) {
      case 0 -> choice.putNull("logprobs");
      case 1 -> choice.putObject("logprobs").put("text", "no").put("finish_reason", "no").putArray("tokens").add("no");
      default -> choice.putArray("token_ids").add(12).add(7);
    }
    switch (random.nextInt(3)) {
      case 0 -> choice.putNull("finish_reason");
      case 1 -> choice.put("finish_reason", "stop").put("stop_reason", "</s>");
      default -> {
        // Not every engine repeats it.
      }
    }
  }

  private static void addDelta(ObjectNode delta, Random random) {
    if (random.nextBoolean()) {
      delta.put("role", "assistant");
    }
    if (random.nextBoolean()) {
      delta.put("content", TEXTS[random.nextInt(TEXTS.length)]);
    }
    switch (random.nextInt(7)) {
      case 0 -> delta.put("reasoning", TEXTS[random.nextInt(TEXTS.length)]);
      case 1 -> delta.put("reasoning_content", "hm");
      case 2 -> delta.putArray("tool_calls").addObject().putObject("function").put("content", "no").put("name", "f");
      case 3 -> delta.putArray("tool_calls");
      case 4 -> delta.put("refusal", "no");
      case 5 -> delta.putNull("refusal").putNull("content");
      default -> {
        // Text alone.
      }
    }
  }

  private static void read(JsonNode choice, StringBuilder text, StringBuilder reasons, Set<Part> parts) {
    JsonNode delta = choice.path("delta");
    text.append(choice.path("text").asText("")).append(delta.path("content").asText(""));
    note(parts, Part.ANOTHER, choice.path("index").asInt() > 0);
    note(parts, Part.ROLE, delta.has("role"));
    note(parts, Part.TOOL_CALL, !delta.path("tool_calls").isEmpty());
    note(parts, Part.REASONING,
        !delta.path("reasoning").asText("").isEmpty() || !delta.path("reasoning_content").asText("").isEmpty());
    note(parts, Part.OTHER, !delta.path("refusal").asText("").isEmpty());
    if (choice.hasNonNull("finish_reason")) {
      parts.add(Part.END);
      reasons.append(choice.path("finish_reason").asText()).append(';');
    }
  }

  private static void note(Set<Part> parts, Part part, boolean isThere) {
    if (isThere) {
      parts.add(part);
    }
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
      "{'choices':[{'delta':{'function_call':{'name':'f'}}}]} | TOOL_CALL",
      "{'choices':[{'delta':{'audio':{'data':'x'}}}]} | OTHER",
      "{'choices':[{'delta':{'annotations':['x']}}]} | OTHER",
      "{'choices':[{'delta':{'content':[{'type':'text','text':'x'}]}}]} | OTHER"})
  void whatElseADeltaHas_isToldOf(String event, Part part) {
    Found found = new Found();
    byte[] bytes = event.replace('\'', '"').getBytes(StandardCharsets.UTF_8);

    new JsonScan(found).accept(bytes, 0, bytes.length);

    assertThat(found.parts).containsExactly(part);
    assertThat(found.text.size()).isZero();
  }

  @Test
  void emptyReason_isNoEnd() {
    Found found = new Found();
    byte[] bytes = "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"\"}]}".getBytes(StandardCharsets.UTF_8);

    new JsonScan(found).accept(bytes, 0, bytes.length);

    assertThat(found.parts).isEmpty();
    assertThat(found.reason).isEmpty();
  }
}
