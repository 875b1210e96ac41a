package io.kvasir.sim.json;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.http.SimHttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Writes a JSON document as the whole answer to a request. */
public final class JsonReply {
  private static final String CONTENT_TYPE = "application/json";

  private JsonReply() {}

  public static void send(SimHttpExchange exchange, JsonNode answer) throws IOException {
    send(exchange, 200, answer);
  }

  public static void send(SimHttpExchange exchange, int status, JsonNode answer) throws IOException {
    exchange.reply(status, CONTENT_TYPE, answer.toString().getBytes(StandardCharsets.UTF_8));
  }
}
