package io.kvasir.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.regex.Matcher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where answers end, what of them has to be, and what is told of their tokens. */
final class SamplingTest extends EngineTest {
  private static final String COMPLETIONS = "/v1/completions";
  private static final String CHAT = "/v1/chat/completions";

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void stopString_endsAnAnswer_beforeIt(boolean included) throws Exception {
    SimEngine engine = start(settings());
    JsonNode whole = ask(engine, COMPLETIONS, text().toString());
    String text = whole.at("/choices/0/text").asText();
    String stop = text.substring(21, 27); // begins and ends within words

    ObjectNode request = text().put("stop", stop).put("include_stop_str_in_output", included);
    JsonNode answer = ask(engine, COMPLETIONS, request.toString());
    List<JsonNode> chunks = events(post(engine, COMPLETIONS, request.put("stream", true).toString()).body());

    String expected = text.substring(0, text.indexOf(stop) + (included ? stop.length() : 0));
    assertThat(answer.at("/choices/0/text").asText()).isEqualTo(expected);
    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(answer.at("/choices/0/stop_reason").asText()).isEqualTo(stop);
    assertThat(answer.at("/usage/completion_tokens").asInt()).isBetween(2, 20);
    StringBuilder streamed = new StringBuilder();
    for (JsonNode chunk : chunks) {
      streamed.append(chunk.at("/choices/0/text").asText());
      assertThat(expected).as("no more was shown than stays").startsWith(streamed.toString());
    }
    assertThat(streamed.toString()).isEqualTo(expected);
    assertThat(chunks.getLast().at("/choices/0/stop_reason").asText()).isEqualTo(stop);
  }

  @Test
  void stopStrings_areNotLookedFor_beforeTheFewestTokens() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = text();
    request.putArray("stop").add("e").add("a").add("o");

    assertThat(ask(engine, COMPLETIONS, request.toString()).at("/usage/completion_tokens").asInt()).isLessThan(5);
    JsonNode longer = ask(engine, COMPLETIONS, request.put("min_tokens", 12).toString());
    assertThat(longer.at("/usage/completion_tokens").asInt()).isBetween(13, 16);
  }

  @Test
  void stopToken_endsAnAnswer_andIsNotInItsText() throws Exception {
    SimEngine engine = start(settings());
    JsonNode whole = ask(engine, COMPLETIONS, text().put("return_token_ids", true).toString()).at("/choices/0");
    int stop = whole.path("token_ids").get(7).asInt();

    ObjectNode request = text();
    request.putArray("stop_token_ids").add(stop);
    JsonNode choice = ask(engine, COMPLETIONS, request.put("return_token_ids", true).toString()).at("/choices/0");

    assertThat(choice.path("finish_reason").asText()).isEqualTo("stop");
    assertThat(choice.path("stop_reason").asInt()).isEqualTo(stop);
    int tokens = choice.path("token_ids").size();
    assertThat(choice.path("token_ids").get(tokens - 1).asInt()).isEqualTo(stop);
    assertThat(tokens).isLessThanOrEqualTo(8);
    assertThat(whole.path("text").asText()).startsWith(choice.path("text").asText());
  }

  @Test
  void messages_tellTheirStopSequence() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat().put("max_tokens", 100);
    request.putArray("stop_sequences").add(".");

    JsonNode message = ask(engine, "/v1/messages", request.toString());

    assertThat(message.path("stop_reason").asText()).isEqualTo("stop_sequence");
    assertThat(message.path("stop_sequence").asText()).isEqualTo(".");
    assertThat(message.at("/content/0/text").asText()).isNotEmpty().doesNotContain(".");
  }

  @Test
  void chatsLogprobs_areOfEachToken() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat().put("max_tokens", 5).put("logprobs", true).put("top_logprobs", 2);

    JsonNode choice = ask(engine, CHAT, request.toString()).at("/choices/0");
    List<JsonNode> chunks = events(post(engine, CHAT, request.put("stream", true).toString()).body());

    JsonNode content = choice.at("/logprobs/content");
    assertThat(content).hasSize(5);
    StringBuilder tokens = new StringBuilder();
    for (JsonNode token : content) {
      tokens.append(token.path("token").asText());
      assertThat(token.fieldNames()).toIterable().containsExactly("token", "logprob", "bytes", "top_logprobs");
      assertThat(token.path("top_logprobs")).hasSize(2);
      assertThat(token.at("/top_logprobs/0/token")).isEqualTo(token.path("token"));
      assertThat(token.at("/top_logprobs/1/logprob").asDouble()).isLessThan(token.path("logprob").asDouble());
      assertThat(token.path("bytes")).hasSize(token.path("token").asText().length());
    }
    assertThat(tokens.toString()).isEqualTo(choice.at("/message/content").asText());
    assertThat(chunks.stream().mapToInt(chunk -> chunk.at("/choices/0/logprobs/content").size()).sum()).isEqualTo(5);
    assertThat(chunks.get(1).at("/choices/0/logprobs/content/0")).isEqualTo(content.get(0));
  }

  @Test
  void echo_repeatsThePrompt_withItsLogprobs() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = text().put("max_tokens", 3).put("echo", true).put("logprobs", 1);

    JsonNode answer = ask(engine, COMPLETIONS, request.toString());
    JsonNode alone = ask(engine, COMPLETIONS, request.put("max_tokens", 0).toString()).at("/choices/0");

    int prompt = answer.at("/usage/prompt_tokens").asInt();
    JsonNode logprobs = answer.at("/choices/0/logprobs");
    assertThat(answer.at("/choices/0/text").asText()).startsWith("Once upon a time");
    assertThat(logprobs.path("tokens")).hasSize(prompt + 3);
    assertThat(logprobs.at("/token_logprobs/0").isNull()).isTrue();
    assertThat(logprobs.at("/top_logprobs/1")).hasSize(2);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < prompt + 3; i++) {
      assertThat(logprobs.at("/text_offset/" + i).asInt()).isEqualTo(text.length());
      text.append(logprobs.at("/tokens/" + i).asText());
    }
    assertThat(text.toString()).isEqualTo(answer.at("/choices/0/text").asText());
    assertThat(alone.path("text").asText()).isEqualTo("Once upon a time");
    assertThat(alone.at("/logprobs/tokens")).hasSize(prompt);
  }

  /** What is told of a prompt's tokens is told of those that are computed. */
  @Test
  void promptLogprobs_findNothingInTheCache_andLeaveItsBlocksThere() throws Exception {
    SimEngine engine = start(settings());
    String prompt = "The cache keeps what was read once. ".repeat(20);
    ObjectNode request = text().put("prompt", prompt);
    ask(engine, COMPLETIONS, request.toString());

    JsonNode told = ask(engine, COMPLETIONS, request.deepCopy().put("prompt_logprobs", 0).toString());
    JsonNode next = ask(engine, COMPLETIONS, request.toString());

    JsonNode values = told.at("/choices/0/prompt_logprobs");
    assertThat(values).hasSize(told.at("/usage/prompt_tokens").asInt());
    assertThat(values.get(0).isNull()).isTrue();
    assertThat(values.get(1).iterator().next().fieldNames()).toIterable()
        .containsExactly("logprob", "rank", "decoded_token");
    assertThat(told.at("/usage/prompt_tokens_details/cached_tokens").asInt(-1)).isZero();
    assertThat(next.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isPositive();
  }

  @ParameterizedTest
  @CsvSource(delimiterString = " ~ ", quoteCharacter = '`', value = {
      "\"response_format\":{\"type\":\"json_object\"} ~ \\{\"answer\": \"[a-z ]+\"}",
      "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
          + "\"schema\":{\"type\":\"integer\"}}} ~ \\d+",
      "\"structured_outputs\":{\"choice\":[\"red\",\"green\"]} ~ red|green",
      "\"structured_outputs\":{\"json\":{\"enum\":[1,2]}} ~ 1|2",
      "\"structured_outputs\":{\"json\":\"{\\\"const\\\":true}\"} ~ true",
      "\"structured_outputs\":{\"regex\":\"[A-F]{3}-(one|two)?\"} ~ [A-F]{3}-(one|two)?",
  })
  void answer_isOfTheFormatThatIsRequired(String field, String pattern) throws Exception {
    SimEngine engine = start(settings());

    JsonNode chat = ask(engine, CHAT, chat().toString().replaceFirst("\\{", "{" + quote(field) + ","));
    JsonNode text = ask(engine, COMPLETIONS, text().put("max_tokens", 60).put("ignore_eos", false).toString()
        .replaceFirst("\\{", "{" + quote(field) + ","));

    assertThat(chat.at("/choices/0/message/content").asText()).as(chat.toString()).matches(pattern);
    assertThat(chat.at("/choices/0/finish_reason").asText()).isEqualTo("stop");
    assertThat(text.at("/choices/0/text").asText()).matches(pattern);
  }

  @Test
  void responsesFormat_isThatOfItsText() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = JSON.createObjectNode().put("input", "Hello");
    request.putObject("text").putObject("format").put("type", "json_schema").put("name", "n")
        .putObject("schema").putArray("enum").add("red").add("green");

    assertThat(ask(engine, "/v1/responses", request.toString()).at("/output/0/content/0/text").asText())
        .isIn("\"red\"", "\"green\"");
  }

  /** The text of characters that are several tokens each is shown when these are whole. */
  @Test
  void textOfManyBytes_isStreamedWhole() throws Exception {
    SimEngine engine = start(settings());
    ObjectNode request = chat().put("stream", true);
    request.putObject("structured_outputs").putArray("choice").add("𒀀 çà 日本語 ŝ");

    StringBuilder text = new StringBuilder();
    for (JsonNode chunk : events(post(engine, CHAT, request.toString()).body())) {
      text.append(chunk.at("/choices/0/delta/content").asText(""));
    }

    assertThat(text.toString()).isEqualTo("𒀀 çà 日本語 ŝ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"grammar\":\"root ::= x\"}", "{\"regex\":\"(?=a)b\"}", "{\"json\":{\"type\":\"odd\"}}"})
  void formatThatIsNotSimulated_isRefused(String format) throws Exception {
    SimEngine engine = start(settings());

    String request = chat().toString().replaceFirst("\\{", "{\"structured_outputs\":" + quote(format) + ",");

    assertThat(ask(engine, CHAT, request).at("/error/message").asText()).startsWith("The simulated engine");
  }

  private static String quote(String replacement) {
    return Matcher.quoteReplacement(replacement);
  }

  private static ObjectNode text() {
    return JSON.createObjectNode().put("prompt", "Once upon a time").put("max_tokens", 40).put("ignore_eos", true);
  }

  private static ObjectNode chat() {
    ObjectNode request = JSON.createObjectNode().put("model", "kvasir-demo");
    request.putArray("messages").addObject().put("role", "user").put("content", "Hello");
    return request;
  }
}
