package io.kvasir.execution.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import io.kvasir.prompt.chat.ChatBodies;
import io.kvasir.prompt.chat.MessagesRules;
import io.kvasir.prompt.chat.VllmVersion;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Messages and responses that are served as chats, there and back. */
final class TranslationTest {
  private static final String MESSAGES = "/v1/messages";
  private static final String RESPONSES = "/v1/responses";
  private static final String CALLS =
      "data: {\"id\":\"chatcmpl-1\",\"model\":\"m\",\"created\":7,\"choices\":[{\"delta\":{\"role\":\"assistant\","
          + "\"reasoning_content\":\"Hm\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":0}}\r\n\r\n"
          + ": a comment\n\n"
          + "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n"
          + "data: {\"choices\":[{\"delta\":{\"content\":\"é\"}}]}\n\n"
          + "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\","
          + "\"arguments\":\"\"}}]}}]}\n\n"
          + "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
          + "\"function\":{\"arguments\":\"{\\\"a\\\":1}\"}}]}}]}\n\n"
          + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
          + "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\ndata: [DONE]\n\n";

  @Test
  void messages_request_isTheChatThatTheEngineMakesOfIt() {
    String body =
        "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":0.70,\"stop_sequences\":[\"X\"],\"stream\":true,"
            + "\"x_unknown\":1e2,\"metadata\":{\"user_id\":\"u\"},"
            + "\"system\":[{\"type\":\"text\",\"text\":\"Be kind.\"},{\"type\":\"text\",\"text\":\"And brief.\"}],"
            + "\"messages\":["
            + "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"See\"},{\"type\":\"image\",\"source\":"
            + "{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"QUJD\"}}]},"
            + "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"tool_use\","
            + "\"id\":\"t1\",\"name\":\"f\",\"input\":{\"a\":1}}]},"
            + "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"42\"}]}],"
            + "\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}],"
            + "\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true},"
            + "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},"
            + "\"output_config\":{\"effort\":\"low\",\"format\":{\"type\":\"json_schema\",\"schema\":{\"a\":1}}},"
            + "\"context_management\":{\"edits\":[]}}";

    assertThat(request(MESSAGES, body)).isEqualTo(
        "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":0.70,\"stream\":true,\"x_unknown\":1e2,\"messages\":["
            + "{\"role\":\"system\",\"content\":\"Be kind.And brief.\"},"
            + "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"See\"},{\"type\":\"image_url\","
            + "\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]},"
            + "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"t1\","
            + "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\": 1}\"}}],"
            + "\"reasoning\":\"hm\",\"reasoning_content\":\"hm\"},"
            + "{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"42\"}],"
            + "\"tools\":[{\"type\":\"function\","
            + "\"function\":{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}],"
            + "\"thinking_token_budget\":2000,\"reasoning_effort\":\"low\",\"stop\":[\"X\"],"
            + "\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true},"
            + "\"tool_choice\":\"required\",\"parallel_tool_calls\":false,"
            + "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"response\",\"strict\":true,"
            + "\"schema\":{\"a\":1}}}}");
  }

  @Test
  void messages_thinkingSwitchedOff_isNoEffort() {
    String body = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"thinking\":{\"type\":\"disabled\"}}";

    assertThat(request(MESSAGES, body)).isEqualTo(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"reasoning_effort\":\"none\"}");
  }

  @Test
  void messages_wholeAnswer_isAMessage() {
    String chat = "{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"message\":"
        + "{\"reasoning_content\":\"hm\",\"content\":\"Hi\","
        + "\"tool_calls\":[{\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},"
        + "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,"
        + "\"prompt_tokens_details\":{\"cached_tokens\":5}}}";

    assertThat(text(translation(MESSAGES, "{}").whole(bytes(chat)))).isEqualTo(
        "{\"id\":\"c\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"thinking\","
            + "\"thinking\":\"hm\",\"signature\":\"" + MessageObject.signature("c", 0) + "\"},"
            + "{\"type\":\"text\",\"text\":\"Hi\"},"
            + "{\"type\":\"tool_use\",\"id\":\"t\","
            + "\"name\":\"f\",\"input\":{\"a\":1}}],\"stop_reason\":\"tool_use\",\"stop_sequence\":null,"
            + "\"usage\":{\"input_tokens\":4,\"cache_read_input_tokens\":5,\"output_tokens\":4}}");
  }

  @Test
  void messages_answerOfNothing_hasABlock() {
    String chat = "{\"id\":\"c\",\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[]}}]}";

    JsonNode message = ChatAnswer.read(translation(MESSAGES, "{}").whole(bytes(chat)));
    assertThat(message.path("content").toString()).isEqualTo("[{\"type\":\"text\",\"text\":\"\"}]");
  }

  @Test
  void messages_stopReasons() {
    assertThat(stop("\"finish_reason\":\"stop\"", "")).isEqualTo("end_turn null");
    assertThat(stop("\"finish_reason\":\"length\"", "")).isEqualTo("max_tokens null");
    assertThat(stop("\"finish_reason\":\"stop\",\"matched_stop\":\"X\"", "")).isEqualTo("stop_sequence X");
    assertThat(stop("\"finish_reason\":\"stop\",\"matched_stop\":2", "")).isEqualTo("end_turn null");
    assertThat(stop("\"finish_reason\":\"content_filter\"", "")).isEqualTo("refusal null");
  }

  @Test
  void messages_stopReasonsOfCalls() {
    assertThat(stop("\"finish_reason\":\"stop\"", "{}")).as("one that had to be made").isEqualTo("tool_use null");
    assertThat(stop("\"finish_reason\":\"stop\",\"stop_reason\":\"X\"", "{}")).isEqualTo("tool_use null");
    assertThat(stop("\"finish_reason\":\"stop\",\"stop_reason\":\"X\"", "{\\\"a")).isEqualTo("stop_sequence X");
    assertThat(stop("\"finish_reason\":\"length\"", "{}")).isEqualTo("max_tokens null");
  }

  @Test
  void messages_usage_tellsWhatTheEngineTells() {
    assertThat(usage("{\"prompt_tokens\":9,\"completion_tokens\":4}"))
        .isEqualTo("{\"input_tokens\":9,\"output_tokens\":4}");
    assertThat(usage("{\"prompt_tokens\":9,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":0}}"))
        .isEqualTo("{\"input_tokens\":9,\"cache_read_input_tokens\":0,\"output_tokens\":4}");
    assertThat(usage("{\"prompt_tokens\":9,\"completion_tokens\":4,"
        + "\"prompt_tokens_details\":{\"cached_tokens\":3,\"created_cache_tokens\":2}}"))
        .isEqualTo("{\"input_tokens\":4,\"cache_read_input_tokens\":3,\"cache_creation_input_tokens\":2,"
            + "\"output_tokens\":4}");
  }

  @Test
  void messages_stream_opensABlockForEachKind() throws IOException {
    List<JsonNode> events = events(stream(MESSAGES, "{}", CALLS, 1));

    assertThat(events).extracting(event -> event.path("type").asText()).containsExactly(
        "message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop");
    assertThat(events.getFirst().at("/message/usage").toString())
        .isEqualTo("{\"input_tokens\":9,\"output_tokens\":0}");
    assertThat(events.get(2).path("delta").toString()).isEqualTo("{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}");
    assertThat(events.get(3).path("delta").toString()).isEqualTo(
        "{\"type\":\"signature_delta\",\"signature\":\"" + MessageObject.signature("chatcmpl-1", 0) + "\"}");
    assertThat(events.get(7).at("/delta/text").asText()).isEqualTo("é");
    assertThat(events.get(9).path("content_block").toString())
        .isEqualTo("{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"f\",\"input\":{}}");
    assertThat(events.get(10).at("/delta/partial_json").asText()).isEqualTo("{\"a\":1}");
    assertThat(events.get(12).toString()).contains(
        "\"stop_reason\":\"tool_use\"", "\"input_tokens\":4", "\"cache_read_input_tokens\":5", "\"output_tokens\":4");
  }

  @Test
  void textAmongCalls_goesOnBehindThem() throws IOException {
    String among = call(0, "c1", "f", "{\\\"a\\\":")
        + "data: {\"choices\":[{\"delta\":{\"content\":\"so\"}}]}\n\n"
        + call(0, "c1", "", "1}") + call(1, "c2", "g", "{}")
        + "data: {\"choices\":[{\"delta\":{\"content\":\"!\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

    List<JsonNode> events = events(stream(MESSAGES, "{}", among, 1));
    assertThat(events).extracting(event -> event.at("/content_block/type").asText()).filteredOn(type -> !type.isEmpty())
        .containsExactly("tool_use", "text", "tool_use", "text");
    assertThat(events).extracting(event -> event.at("/delta/partial_json").asText() + event.at("/delta/text").asText())
        .filteredOn(text -> !text.isEmpty()).containsExactly("{\"a\":", "1}", "so", "{}", "!");
    assertThat(events.get(events.size() - 2).at("/delta/stop_reason").asText()).isEqualTo("tool_use");

    assertThat(events(stream(RESPONSES, "{}", among, 1)).getLast().at("/response/output"))
        .extracting(item -> item.path("type").asText())
        .containsExactly("function_call", "message", "function_call", "message");
    assertThat(events(stream(RESPONSES, "{}", among, 1)).getLast().at("/response/output"))
        .extracting(item -> item.path("id").asText()).doesNotHaveDuplicates();
  }

  /** With some of its arguments the client would make another call. */
  @Test
  void callThatGoesOnBehindAnother_endsTheStream() throws IOException {
    String interleaved = call(0, "c1", "f", "") + call(1, "c2", "g", "{}") + call(0, "c1", "", "{}")
        + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

    assertThat(stream(MESSAGES, "{}", interleaved, 1)).doesNotContain("message_stop").contains("event: error");
    assertThat(stream(RESPONSES, "{}", interleaved, 1))
        .doesNotContain("response.completed").contains("response.failed");
  }

  /** It would be kept until the call is over. */
  @Test
  void textAmongCalls_thatIsTooLong_endsTheStream() throws IOException {
    String piece = "data: {\"choices\":[{\"delta\":{\"content\":\"" + "x".repeat(1 << 20) + "\"}}]}\n\n";
    String among = call(0, "c1", "f", "{}") + piece.repeat(ChatStream.MAX_KEPT >> 20);

    assertThat(stream(MESSAGES, "{}", among, 1 << 20)).doesNotContain("event: error");
    assertThat(stream(MESSAGES, "{}", among + piece, 1 << 20)).endsWith(
        "\"message\":\"the worker's text among calls of tools is too long\"}}\n\n");
  }

  @Test
  void messages_streamedCallThatAStopTextCut_isNoneToBeMade() throws IOException {
    String cut = call(0, "c1", "f", "{\\\"a\\\":")
        + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"stop_reason\":\"X\"}]}\n\ndata: [DONE]\n\n";

    assertThat(stream(MESSAGES, "{}", cut, 1)).contains("\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"X\"");
  }

  @Test
  void streams_cutAnywhere_areTheSame() throws IOException {
    for (String path : new String[] {MESSAGES, RESPONSES}) {
      String expected = stream(path, "{\"instructions\":\"x\"}", CALLS, 1 << 20);
      for (int piece : new int[] {1, 2, 3, 7, 64}) {
        assertThat(stream(path, "{\"instructions\":\"x\"}", CALLS, piece)).isEqualTo(expected);
      }
    }
  }

  @Test
  void streamWithoutItsEnd_isGivenNone() throws IOException {
    String cut = CALLS.substring(0, CALLS.indexOf("data: [DONE]"));

    assertThat(stream(MESSAGES, "{}", cut, 9)).doesNotContain("message_stop");
    assertThat(stream(RESPONSES, "{}", cut, 9)).doesNotContain("response.completed");
  }

  @Test
  void errorInTheStream_isTold() throws IOException {
    String error = "data: {\"error\":{\"message\":\"OOM\"}}\n\ndata: [DONE]\n\n";

    assertThat(stream(MESSAGES, "{}", error, 9)).isEqualTo(
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"OOM\"}}\n\n");
    assertThat(stream(RESPONSES, "{}", error, 9)).startsWith("event: response.failed\n").contains("OOM");
  }

  @Test
  void responses_request_isTheSameChat() {
    String body =
        "{\"model\":\"m\",\"instructions\":\"Be kind.\",\"max_output_tokens\":9,\"top_p\":0.90,\"store\":false,"
            + "\"reasoning\":{\"effort\":\"low\"},\"text\":{\"format\":{\"type\":\"json_schema\","
            + "\"name\":\"n\",\"schema\":"
            + "{\"type\":\"object\"},\"strict\":true}},\"input\":["
            + "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"See\"},{\"type\":\"input_image\","
            + "\"image_url\":\"http://a/b\",\"detail\":\"low\"}]},"
            + "{\"type\":\"reasoning\",\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]},"
            + "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"},"
            + "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"g\",\"arguments\":\"{}\"},"
            + "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"42\"}],"
            + "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{},\"strict\":true}],"
            + "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}";

    assertThat(request(RESPONSES, body)).isEqualTo(
        "{\"model\":\"m\",\"top_p\":0.90,\"messages\":[{\"role\":\"system\",\"content\":\"Be kind.\"},"
            + "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"See\"},{\"type\":\"image_url\","
            + "\"image_url\":"
            + "{\"url\":\"http://a/b\",\"detail\":\"low\"}}]},"
            + "{\"role\":\"assistant\",\"reasoning\":\"hm\",\"tool_calls\":["
            + "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
            + "{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}],"
            + "\"reasoning_content\":\"hm\"},"
            + "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"42\"}],"
            + "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{},\"strict\":true}}],"
            + "\"reasoning_effort\":\"low\",\"max_completion_tokens\":9,\"response_format\":{\"type\":\"json_schema\","
            + "\"json_schema\":{\"name\":\"n\","
            + "\"schema\":{\"type\":\"object\"},\"strict\":true}},\"tool_choice\":{\"type\":\"function\","
            + "\"function\":"
            + "{\"name\":\"f\"}}}");
  }

  @Test
  void responses_wholeAnswer_isAResponse() {
    String chat = "{\"id\":\"chatcmpl-1\",\"created\":7,\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"Hi\"},"
        + "\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}";
    JsonNode response = ChatAnswer.read(
        translation(RESPONSES, "{\"instructions\":\"Be kind.\",\"temperature\":0.5}").whole(bytes(chat)));

    assertThat(response.path("id").asText()).isEqualTo("resp_1");
    assertThat(response.path("status").asText()).isEqualTo("incomplete");
    assertThat(response.at("/incomplete_details/reason").asText()).isEqualTo("max_output_tokens");
    assertThat(response.path("instructions").asText()).isEqualTo("Be kind.");
    assertThat(response.path("temperature").asDouble()).isEqualTo(0.5);
    assertThat(response.at("/output/0/content/0").toString())
        .isEqualTo("{\"type\":\"output_text\",\"text\":\"Hi\",\"annotations\":[],\"logprobs\":[]}");
    assertThat(response.path("usage").toString()).isEqualTo(
        "{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":4,"
            + "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":13}");
  }

  @Test
  void responses_stream_tellsEveryItem() throws IOException {
    List<JsonNode> events = events(stream(RESPONSES, "{}", CALLS, 5));

    assertThat(events).extracting(event -> event.path("type").asText()).containsExactly(
        "response.created", "response.in_progress", "response.output_item.added", "response.reasoning_text.delta",
        "response.reasoning_text.done", "response.output_item.done", "response.output_item.added",
        "response.content_part.added", "response.output_text.delta", "response.output_text.delta",
        "response.output_text.done", "response.content_part.done", "response.output_item.done",
        "response.output_item.added", "response.function_call_arguments.delta",
        "response.function_call_arguments.done", "response.output_item.done", "response.completed");
    for (int i = 0; i < events.size(); i++) {
      assertThat(events.get(i).path("sequence_number").asInt()).isEqualTo(i);
    }
    JsonNode response = events.getLast().path("response");
    assertThat(response.path("output")).hasSize(3);
    assertThat(response.at("/output/1/content/0/text").asText()).isEqualTo("Hé");
    assertThat(response.at("/output/2/arguments").asText()).isEqualTo("{\"a\":1}");
    assertThat(response.at("/usage/total_tokens").asInt()).isEqualTo(13);
  }

  @Test
  void errors_haveTheApisShape() {
    byte[] error = bytes("{\"object\":\"error\",\"message\":\"too long\",\"code\":400}");

    assertThat(text(translation(MESSAGES, "{}").error(400, error))).isEqualTo(
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"too long\"}}");
    assertThat(text(translation(RESPONSES, "{}").error(400, error))).isEqualTo(
        "{\"error\":{\"message\":\"too long\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":400}}");
  }

  private static String stop(String choice, String arguments) {
    String calls = arguments.isEmpty() ? ""
        : ",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"" + arguments + "\"}}]";
    JsonNode message = ChatAnswer.read(translation(MESSAGES, "{}").whole(
        bytes("{\"choices\":[{\"message\":{\"content\":\"x\"" + calls + "}," + choice + "}]}")));
    return message.path("stop_reason").asText() + " " + message.path("stop_sequence").asText("null");
  }

  private static String usage(String chat) {
    return ChatAnswer.read(translation(MESSAGES, "{}").whole(bytes("{\"usage\":" + chat + "}")))
        .path("usage").toString();
  }

  private static String call(int number, String id, String name, String arguments) {
    return ("data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"%s\",\"function\":"
        + "{\"name\":\"%s\",\"arguments\":\"%s\"}}]}}]}\n\n").formatted(number, id, name, arguments);
  }

  private static String request(String path, String body) {
    return translation(path, body).request().toString();
  }

  private static Translation translation(String path, String body) {
    ChatConversion conversion = (api, _, given) -> api == ApiPath.MESSAGES
        ? ChatBodies.withImageUrls(
            ChatBodies.ofMessages(given, VllmVersion.NEWEST, MessagesRules.UNKNOWN), VllmVersion.NEWEST)
        : ChatBodies.ofTranslatedResponses(given);
    return conversion.translation(new ClientRequest(path, JsonMembers.of(bytes(body))), "m");
  }

  private static String stream(String path, String body, String chat, int piece) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Translation.Stream stream = translation(path, body).stream(out::write);
    byte[] bytes = bytes(chat);
    for (int at = 0; at < bytes.length; at += piece) {
      stream.accept(bytes, at, Math.min(piece, bytes.length - at));
    }
    stream.end();
    return out.toString(StandardCharsets.UTF_8);
  }

  private static List<JsonNode> events(String stream) {
    List<JsonNode> events = new ArrayList<>();
    for (String line : stream.lines().toList()) {
      if (line.startsWith("data: ")) {
        events.add(ChatAnswer.read(bytes(line.substring(6))));
      }
    }
    return events;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
