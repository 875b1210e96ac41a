package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.client.HomeMessages.HomeRequest;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is read of a request before its sender is known to be a node of the cluster. */
final class HomeMessagesTest {
  private final HomeMessages messages = new HomeMessages(new ObjectMapper(new CBORFactory()));

  @Test
  void requestingNode_isReadWithoutTheContent() {
    byte[] request = messages.write(new HomeRequest("cell", "node", List.of(), null, 1, null, null));
    assertThat(messages.requestingNode(request)).isEqualTo("node");
    int content = "?cell?cell?node?node".length() + 1;
    byte[] damaged = Arrays.copyOf(request, content + 100);
    Arrays.fill(damaged, content, damaged.length, (byte) 0x5f);
    assertThat(messages.requestingNode(damaged)).isEqualTo("node");
    assertThatThrownBy(() -> messages.read(damaged, HomeRequest.class)).isInstanceOf(UncheckedIOException.class);
  }

  /** A node of an earlier version has one rendition of a prompt. */
  @Test
  void decisionRequest_hasItsRenditions_orNone() {
    Chain chain = new Chain(new long[] {1, 2}, 16);
    DecisionRequest request = new DecisionRequest(
        "r", "m", null, RequestShape.TEXT,
        new DecisionRequest.Prompt(
            chain, 40, List.of(new Rendition("SGLang 0.5.23", new Chain(new long[] {3}, 16), 20))),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
    byte[] sent = messages.write(new HomeRequest("cell", "node", List.of(), request, 1, null, null));
    assertThat(messages.read(sent, HomeRequest.class).request()).isEqualTo(request);

    ObjectNode earlier = messages.read(sent, ObjectNode.class);
    ((ObjectNode) earlier.at("/request/prompt")).remove("renditions");
    DecisionRequest read = messages.read(messages.write(earlier), HomeRequest.class).request();
    assertThat(read).isNotNull();
    assertThat(read.prompt()).isEqualTo(new DecisionRequest.Prompt(chain, 40));
  }

  @Test
  void requestingNode_ofOtherMessages() {
    assertThat(messages.requestingNode(messages.write(Map.of("cell", List.of("a", "node"))))).isNull();
    assertThat(messages.requestingNode(messages.write(Map.of("node", 7)))).isNull();
    assertThat(messages.requestingNode(messages.write(List.of("node", "a")))).isNull();
    assertThat(messages.requestingNode(HomeMessages.ACKNOWLEDGED)).isNull();
    assertThatThrownBy(() -> messages.requestingNode(new byte[] {(byte) 0xbf, 0x64, 'n'}))
        .isInstanceOf(UncheckedIOException.class);
  }
}
