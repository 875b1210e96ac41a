package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * A request and how its answer is read.
 *
 * @param api the API it is sent to
 * @param body without {@code stream}
 */
record ChaosRequest(Api api, ObjectNode body) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String[] WORDS =
      ("the router sends each request where its prefix is cached and a request that lands there starts in a fraction"
              + " of time while engines keep blocks of prompts they have seen before under load and memory moves")
          .split(" ", -1);

  /** The APIs that stream, with where their text is and what ends a stream. */
  enum Api {
    CHAT("/v1/chat/completions", "/choices/0/message/content", "/choices/0/delta/content", "data: [DONE]"),
    COMPLETIONS("/v1/completions", "/choices/0/text", "/choices/0/text", "data: [DONE]"),
    MESSAGES("/v1/messages", "/content/0/text", "/delta/text", "event: message_stop"),
    RESPONSES("/v1/responses", "/output/0/content/0/text", "/delta", "event: response.completed");

    private final String path;
    private final String bodyPointer;
    private final String delta;
    private final String end;

    Api(String path, String whole, String delta, String end) {
      this.path = path;
      this.bodyPointer = whole;
      this.delta = delta;
      this.end = end;
    }

    String path() {
      return path;
    }

    /** The text of an answer in one piece. */
    String text(String answer) throws IOException {
      return JSON.readTree(answer).at(bodyPointer).asText();
    }

    /** The text of a stream so far. */
    Reply read(Iterable<String> lines) throws IOException {
      StringBuilder text = new StringBuilder();
      boolean ended = false;
      boolean failed = false;
      for (String line : lines) {
        ended |= line.equals(end);
        if (line.startsWith("data: {")) {
          JsonNode event = JSON.readTree(line.substring("data: ".length()));
          failed |= event.hasNonNull("error");
          JsonNode more = event.at(delta);
          boolean done = event.path("type").asText("").endsWith(".done");
          text.append(more.isTextual() && !done ? more.asText() : "");
        }
      }
      return new Reply(text.toString(), ended, failed);
    }
  }

  /**
   * A stream's content.
   *
   * @param ended whether its terminator came
   * @param failed whether it reported an error
   */
  record Reply(String text, boolean ended, boolean failed) {}

  /** One of many requests: a few prompts begin many of them. */
  static ChaosRequest random(Random random, String model) {
    Api api = Api.values()[random.nextInt(Api.values().length)];
    ObjectNode body = JSON.createObjectNode().put("model", model);
    String shared = words(new Random(random.nextInt(12)), 160);
    String own = words(random, 5 + random.nextInt(300));
    int most = 8 + random.nextInt(40);
    switch (api) {
      case CHAT, MESSAGES -> {
        body.put("max_tokens", most).putArray("messages").addObject().put("role", "user")
            .put("content", shared + own);
      }
      case COMPLETIONS -> body.put("max_tokens", most).put("prompt", shared + own);
      case RESPONSES -> body.put("max_output_tokens", most).put("input", shared + own);
    }
    return new ChaosRequest(api, body);
  }

  byte[] bytes(boolean stream) {
    return body.deepCopy().put("stream", stream).toString().getBytes(StandardCharsets.UTF_8);
  }

  private static String words(Random random, int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(WORDS[random.nextInt(WORDS.length)]).append(' ');
    }
    return text.toString();
  }
}
