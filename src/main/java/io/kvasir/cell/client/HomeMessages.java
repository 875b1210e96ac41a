package io.kvasir.cell.client;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.view.DecisionReply;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages of peer connections to a cell's home, and the replies: those of the cluster in CBOR, by the same rules,
 * so fields may be added. Thread-safe.
 */
final class HomeMessages {
  /** The reply to a request that neither decides nor explains. */
  static final byte[] ACKNOWLEDGED = {1};

  private final ObjectMapper cbor;

  /**
   * A request to a cell's home.
   *
   * @param cell the cell
   * @param node the requesting node: its address and incarnation
   * @param events what has become of the node's reservations until now; null from a node that sends that otherwise
   * @param request what is to be decided after that, null when nothing is
   * @param correlationId the node's own id of the request
   * @param open the reservations that the node has open after those events, null when it does not declare them now
   * @param explained what is to be explained, null when nothing is; with a request it is not explained
   */
  record HomeRequest(
      String cell,
      String node,
      @Nullable List<ReservationEvent> events,
      @Nullable DecisionRequest request,
      long correlationId,
      @Nullable OpenReservations open,
      @Nullable DecisionRequest explained)
      implements ClusterMessage {}

  HomeMessages(ObjectMapper cbor) {
    this.cbor = cbor;
  }

  /** Builds what reads and writes the messages, for which the first of each would have to wait otherwise. */
  void prepare() {
    for (Class<?> type : List.of(HomeRequest.class, DecisionReply.class)) {
      var _ = cbor.readerFor(type);
      var _ = cbor.writerFor(type);
    }
  }

  byte[] write(Object message) {
    try {
      return cbor.writeValueAsBytes(message);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /**
   * Reads a message.
   *
   * @throws UncheckedIOException when it is malformed
   */
  <T> T read(byte[] message, Class<T> type) {
    try {
      return cbor.readValue(message, type);
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }

  /**
   * The node that a request comes from, which stands before its content: that is not read yet. Null when there is none.
   *
   * @throws UncheckedIOException when the request is malformed up to there
   */
  @Nullable String requestingNode(byte[] request) {
    try (JsonParser parser = cbor.createParser(request)) {
      if (parser.nextToken() == JsonToken.START_OBJECT) {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          boolean node = parser.currentName().equals("node");
          JsonToken value = parser.nextToken();
          if (node) {
            return value == JsonToken.VALUE_STRING ? parser.getText() : null;
          }
          parser.skipChildren();
        }
      }
      return null;
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }
}
