package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import io.kvasir.sim.api.EncoderStats;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An encoder and the engines that take its work. */
final class EncoderTest extends EngineTest {
  private static final String CHAT = "/v1/chat/completions";

  @TempDir
  private Path shared;

  @Test
  void encoder_leavesItsWorkForWhoHasTheSameUuid() throws Exception {
    SimEngine encoder = start(settings().role(Role.ENCODE).transfer(transfer(TransferDialect.NONE)));
    SimEngine prefill = start(settings().role(Role.PREFILL).transfer(transfer(TransferDialect.VLLM_NIXL)));

    JsonNode encoded = ask(encoder, CHAT, chat("item-1").toString());
    ask(prefill, CHAT, chat("item-1").toString());

    assertThat(encoded.at("/ec_transfer_params/ec_items/0/mm_hash").asText()).isEqualTo("item-1");
    assertThat(encoder.encoderStats()).isEqualTo(new EncoderStats(0, 1));
    assertThat(prefill.encoderStats()).isEqualTo(new EncoderStats(1, 0));
  }

  @Test
  void engine_withoutTheEncodersWork_encodesItself() throws Exception {
    SimEngine prefill = start(settings().role(Role.PREFILL).transfer(transfer(TransferDialect.VLLM_NIXL)));

    ask(prefill, CHAT, chat("item-1").toString());
    ask(prefill, CHAT, chat("item-1").toString());

    assertThat(prefill.encoderStats()).as("the second time it knows it").isEqualTo(new EncoderStats(0, 1));
  }

  @Test
  void answer_dependsOnTheItem() throws Exception {
    SimEngine engine = start(settings());

    String first = said(ask(engine, CHAT, chat("item-1").toString()));

    assertThat(said(ask(engine, CHAT, chat("item-1").toString()))).isEqualTo(first);
    assertThat(said(ask(engine, CHAT, chat("item-2").toString()))).isNotEqualTo(first);
  }

  @Test
  void encoder_withoutAnItem_refuses() throws Exception {
    SimEngine encoder = start(settings().role(Role.ENCODE).transfer(transfer(TransferDialect.NONE)));
    ObjectNode nothing = JSON.createObjectNode();
    nothing.putArray("messages").addObject().put("role", "user").put("content", "Hello");

    assertThat(post(encoder, CHAT, nothing.toString()).statusCode()).isEqualTo(400);
  }

  private TransferSettings transfer(TransferDialect dialect) {
    return TransferSettings.of(dialect).withEncoderDirectory(shared);
  }

  private static String said(JsonNode answer) {
    return answer.at("/choices/0/message/content").asText();
  }

  private static ObjectNode chat(String uuid) {
    ObjectNode body = JSON.createObjectNode().put("model", "kvasir-demo").put("max_tokens", 20);
    var content = body.putArray("messages").addObject().put("role", "user").putArray("content");
    content.addObject().put("type", "text").put("text", "What is this?");
    content.addObject().put("type", "image_url").put("uuid", uuid).putObject("image_url")
        .put("url", "data:image/png;base64,iVBORw0KGgo=");
    return body;
  }
}
