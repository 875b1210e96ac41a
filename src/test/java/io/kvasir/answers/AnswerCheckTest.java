package io.kvasir.answers;

import static io.kvasir.answers.TestAnswers.EVENTS;
import static io.kvasir.answers.TestAnswers.JSON;
import static io.kvasir.answers.TestAnswers.bytes;
import static io.kvasir.answers.TestAnswers.chat;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ApiPath;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which answers are whole, without an error, and ended by themselves. */
final class AnswerCheckTest {
  private static final String CHAT_STREAM = """
      : comment

      data: {"choices":[{"index":0,"delta":{"content":"H [DONE]"},"finish_reason":null}]}

      data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

      data: {"choices":[],"usage":{"prompt_tokens":3}}

      data: [DONE]

      """;
  private static final String MESSAGES_STREAM = """
      event: message_start
      data: {"type":"message_start","message":{"stop_reason":null}}

      event: ping
      data: {"type":"ping"}

      event: content_block_delta
      data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"H"}}

      event: message_delta
      data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}

      event: message_stop
      data: {"type":"message_stop"}

      """;
  private static final String RESPONSES_STREAM = """
      event: response.created
      data: {"type":"response.created","response":{"status":"in_progress","error":null},"sequence_number":0}

      event: response.output_text.delta
      data: {"type":"response.output_text.delta","delta":"H","sequence_number":1}

      event: response.completed
      data: {"type":"response.completed","response":{"status":"completed","error":null},"sequence_number":2}

      """;

  private final AnswerCheck check = new AnswerCheck();

  @Test
  void wholeStreams_areKept_howeverTheirLinesEnd() {
    for (String end : List.of("\n", "\r\n", "\r")) {
      assertThat(fault(ApiPath.CHAT, CHAT_STREAM.replace("\n", end))).isEmpty();
      assertThat(fault(ApiPath.MESSAGES, MESSAGES_STREAM.replace("\n", end))).isEmpty();
      assertThat(fault(ApiPath.RESPONSES, RESPONSES_STREAM.replace("\n", end))).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {CHAT_STREAM, MESSAGES_STREAM, RESPONSES_STREAM})
  void streams_areOverWithTheirLastEvent(String stream) {
    for (int from = 0; from < stream.length() / 2; from++) {
      assertThat(check.isComplete(bytes(stream.substring(from)))).isTrue();
      assertThat(check.isComplete(bytes(stream.substring(from, stream.lastIndexOf("data:"))))).isFalse();
    }
    assertThat(check.isComplete(bytes(chat("data: [DONE]")))).isFalse();
  }

  @Test
  void streamsCutAnywhere_areNot() {
    cutAnywhere(ApiPath.CHAT, CHAT_STREAM, "[DONE]");
    cutAnywhere(ApiPath.MESSAGES, MESSAGES_STREAM, "\"message_stop\"}");
    cutAnywhere(ApiPath.RESPONSES, RESPONSES_STREAM, "\"sequence_number\":2}");
  }

  private void cutAnywhere(ApiPath api, String stream, String last) {
    byte[] whole = bytes(stream);
    int end = stream.lastIndexOf(last) + last.length();
    for (int length = 0; length < end; length++) {
      assertThat(check.fault(api, EVENTS, Arrays.copyOf(whole, length))).as("cut at %d of %s", length, api).isPresent();
    }
    assertThat(check.fault(api, EVENTS, Arrays.copyOf(whole, end))).isEmpty();
  }

  @Test
  void documentsCutAnywhere_areNot() {
    byte[] whole = bytes(chat("H"));
    assertThat(check.fault(ApiPath.CHAT, JSON, whole)).isEmpty();
    for (int length = 0; length < whole.length; length++) {
      assertThat(check.fault(ApiPath.CHAT, JSON, Arrays.copyOf(whole, length))).isPresent();
    }
    assertThat(check.fault(ApiPath.CHAT, JSON, bytes(chat("H") + chat("H")))).isPresent();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: {\"error\":{\"code\":5}}\n\ndata: [DONE]\n\n",
        "data: {\"object\":\"error\",\"error\":\"x\"}\n\ndata: [DONE]\n\n",
        "data: {\"choices\":[{\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n",
        "data: {\"choices\":[{\"finish_reason\":\"stop\"},{\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n",
        "data: {\"choices\":[{\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
        "data: [DONE]\n\n",
        "event: error\ndata: {\"message\":\"x\"}\n\ndata: [DONE]\n\n"
      })
  void streamsWithTrouble_areNot(String stream) {
    assertThat(fault(ApiPath.CHAT, stream)).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"error\":{\"message\":\"x\"}}",
        "{\"choices\":[]}",
        "{\"choices\":[{\"finish_reason\":\"abort\"}]}",
        "{\"status\":\"failed\"}",
        "{\"status\":\"in_progress\"}",
        "{}",
        ""
      })
  void documentsWithTrouble_areNot(String document) {
    assertThat(check.fault(ApiPath.CHAT, JSON, bytes(document))).isPresent();
  }

  @ParameterizedTest
  @EnumSource(names = {"EMBEDDINGS", "RERANK"})
  void scores_needNoEnd(ApiPath api) {
    assertThat(check.fault(api, JSON, bytes("{\"data\":[{\"embedding\":[0.1,-2e-3]}],\"usage\":{}}"))).isEmpty();
    assertThat(check.fault(api, JSON, bytes("[{\"index\":0,\"score\":0.5}]"))).isEmpty();
    assertThat(check.fault(api, JSON, bytes("{\"data\":[{\"embedding\":[0.1,-2"))).isPresent();
  }

  @Test
  void answersOfTheOtherApis_areKept() {
    assertThat(check.fault(ApiPath.MESSAGES, JSON, bytes("{\"type\":\"message\",\"stop_reason\":\"tool_use\"}")))
        .isEmpty();
    assertThat(check.fault(ApiPath.RESPONSES, JSON, bytes("{\"status\":\"incomplete\",\"error\":null}"))).isEmpty();
  }

  private String fault(ApiPath api, String stream) {
    return check.fault(api, EVENTS, bytes(stream)).orElse("");
  }
}
