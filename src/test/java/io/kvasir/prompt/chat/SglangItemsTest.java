package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.prompt.tokens.Texts;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.zip.DeflaterOutputStream;
import org.junit.jupiter.api.Test;

/** Packed thoughts, which a client sends back as it got them, or as it made them up. */
final class SglangItemsTest {
  private static JsonNode packed(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DeflaterOutputStream out = new DeflaterOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    String state = "sglang-reasoning-v1." + Base64.getUrlEncoder().encodeToString(bytes.toByteArray());
    return JsonNodeFactory.instance.objectNode().put("type", "reasoning").put("encrypted_content", state);
  }

  @Test
  void prose_isUnpacked() throws IOException {
    String text = new Texts(7).prose(20_000);
    assertThat(new SglangItems().thoughts(packed(text), true)).isEqualTo(text);
    assertThat(new SglangItems().thoughts(packed(text), false)).as("an engine that does not read it").isEmpty();
  }

  @Test
  void muchThatIsPackedIntoLittle_isNotUnpacked() throws IOException {
    assertThat(new SglangItems().thoughts(packed("a".repeat(1 << 20)), true)).isEmpty();
  }

  @Test
  void allItemsTogether_haveOneBound() throws IOException {
    String text = new Texts(7).prose(3 << 20);
    JsonNode item = packed(text);
    SglangItems state = new SglangItems();
    for (int i = 0; i < (16 << 20) / text.getBytes(StandardCharsets.UTF_8).length; i++) {
      assertThat(state.thoughts(item, true)).hasSameSizeAs(text);
    }
    assertThat(state.thoughts(item, true)).isEmpty();
    assertThat(state.thoughts(item, true)).isEmpty();
  }
}
