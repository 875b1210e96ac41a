package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ContinuationTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String COMPLETIONS = "/v1/completions";
  private static final String REPORTING =
      ",\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}";
  private static final String MESSAGES = "\"messages\":[ {\"role\":\"user\", \"content\":\"H\\u00e9]\"} ]";

  @Test
  void completion_goesOnAfterItsText_withTheRestAsItWas() {
    String asked =
        "{\"prompt\":\"Once \\u00e9\",\"x\":1.50,\"max_tokens\":10,\"min_tokens\":4,\"seed\":12345678901234567890}";

    assertThat(body(COMPLETIONS, asked, "\n\"upon\"", 3)).isEqualTo(
        "{\"prompt\":\"Once \\u00e9\\n\\\"upon\\\"\",\"x\":1.50,\"max_tokens\":7,\"min_tokens\":1,"
            + "\"seed\":12345678901234567890" + REPORTING + "}");
  }

  @Test
  void completionWithoutALimit_hasTheStandardOne() {
    String asked = "{\"prompt\":\"a\"}";

    assertThat(body(COMPLETIONS, asked, "b", 6)).isEqualTo(
        "{\"prompt\":\"ab\",\"max_tokens\":10" + REPORTING + "}");
    assertThat(of(COMPLETIONS, asked).remainingTokens(16)).isZero();
    assertThat(of(COMPLETIONS, asked).remainingTokens(17)).isEqualTo(Integer.MAX_VALUE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"4294967295", "2147483648", "1e12", "-1"})
  void limitBeyondEveryAnswer_isNone(String limit) {
    String asked = "{" + MESSAGES + ",\"max_tokens\":" + limit + "}";

    assertThat(of(CHAT, asked).remainingTokens(5)).isGreaterThan(Integer.MAX_VALUE - 6);
    assertThat(body(CHAT, asked, "", 5)).doesNotContain("max_tokens\":-6").doesNotContain("max_tokens\":0");
  }

  /** What it excludes without a count is never there when it is counted, however few tokens are. */
  @ParameterizedTest
  @ValueSource(strings = {
      "", ",\"max_tokens\":7", ",\"max_tokens\":-1", ",\"max_tokens\":30,\"max_completion_tokens\":20",
      ",\"max_tokens\":4294967295"})
  void nothingLeft_isExpectedWheneverItMayBe(String limits) {
    for (String path : List.of(CHAT, COMPLETIONS)) {
      Continuation continuation = of(path, "{" + MESSAGES + limits + "}");
      for (int most = 0; most < 40; most++) {
        boolean over = IntStream.rangeClosed(0, most).anyMatch(count -> continuation.remainingTokens(count) <= 0);
        assertThat(continuation.mayBeOver(most)).as(path + " " + most).isEqualTo(over);
      }
    }
  }

  @Test
  void conversation_goesOnWithAnAssistantsMessage() {
    String asked = "{" + MESSAGES + ",\"max_completion_tokens\":5,\"max_tokens\":9}";

    assertThat(body(CHAT, asked, "Hel", 2)).isEqualTo(
        "{\"messages\":[ {\"role\":\"user\", \"content\":\"H\\u00e9]\"} ,"
            + "{\"role\":\"assistant\",\"content\":\"Hel\"}],\"max_completion_tokens\":3,\"max_tokens\":7"
            + REPORTING + ",\"continue_final_message\":true,\"add_generation_prompt\":false}");
    assertThat(of(CHAT, asked).remainingTokens(5)).isZero();
    assertThat(of(CHAT, "{" + MESSAGES + "}").remainingTokens(1000)).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void nothingSaidYet_isAskedAsItWas() {
    String asked = "{" + MESSAGES + ",\"max_tokens\":9}";

    assertThat(body(CHAT, asked, "", 0)).isEqualTo(asked);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "\"tools\":[{}],\"tool_choice\":\"required\"|tools",
      "\"tools\":[{}],\"tool_choice\":{\"type\":\"function\"}|tools",
      "\"functions\":[{}]|tools",
      "\"response_format\":{\"type\":\"json_schema\"}|structured-output",
      "\"guided_json\":{\"type\":\"object\"}|structured-output",
      "\"structured_outputs\":{\"regex\":\"a\"}|structured-output",
      "\"logprobs\":true|log-probabilities",
      "\"logprobs\":0|log-probabilities",
      "\"top_logprobs\":2|log-probabilities",
      "\"prompt_logprobs\":1|log-probabilities",
      "\"seed\":1|sampling",
      "\"frequency_penalty\":0.1|sampling",
      "\"presence_penalty\":-1|sampling",
      "\"repetition_penalty\":1.1|sampling",
      "\"bad_words\":[\"a\"]|sampling",
      "\"stop\":\"lorry\"|stop",
      "\"stop\":[\"x\",\"elbow\"]|stop",
      "\"n\":2|several-answers",
      "\"best_of\":3|several-answers",
      "\"echo\":true|prompt",
      "\"suffix\":\"end\"|prompt",
      "\"return_token_ids\":true|prompt",
      "\"continue_final_message\":true|continued-message",
      "\"add_generation_prompt\":false|continued-message",
  })
  void otherKinds_areUnfit(String member, String why) {
    assertThat(unfit(CHAT, "{" + MESSAGES + "," + member + "}")).isEqualTo(why);
  }

  @ParameterizedTest
  @ValueSource(strings = {"[\"a\"]", "[1,2]", "null", "\"Once \"", "\"Once\\n\""})
  void otherPromptsThanOneText_areUnfit(String prompt) {
    assertThat(unfit(COMPLETIONS, "{\"prompt\":" + prompt + "}")).isEqualTo("prompt");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"prompt\":[\"a\",\"b\"]", "\"prompt\":[[1],[2]]", "\"n\":2,\"prompt\":\"a\""})
  void severalAnswers_areUnfit_whateverOfThemIsThere(String asked) {
    Continuation several = of(COMPLETIONS, "{" + asked + "}");

    assertThat(several.unsupportedReason(true, "Hel")).isEqualTo("several-answers");
    assertThat(several.unsupportedReason(false, "")).isEqualTo("several-answers");
    assertThat(several.hasSeveralAnswers()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"tool_choice\":\"required\"", "\"logprobs\":true", "\"seed\":1", "\"guided_regex\":\"a\""})
  void withoutText_mostIsFit(String member) {
    assertThat(of(CHAT, "{" + MESSAGES + "," + member + "}").unsupportedReason(false, "")).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "\"tools\":null", "\"tools\":[{}]", "\"tool_choice\":\"auto\"", "\"seed\":1,\"temperature\":0", "\"seed\":null",
      "\"logprobs\":false", "\"logprobs\":null", "\"n\":1", "\"best_of\":1",
      "\"suffix\":null", "\"repetition_penalty\":1", "\"stop\":[\"Hel\",\"e\"]", "\"stop\":\"\"",
      "\"echo\":false", "\"response_format\":{\"type\":\"text\"}", "\"add_generation_prompt\":true"})
  void whatAsksForNothing_isFit(String member) {
    assertThat(unfit(CHAT, "{" + MESSAGES + "," + member + "}")).isNull();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "\"max_tokens\":9|true", "\"max_completion_tokens\":9|true", "\"min_tokens\":3|true", "\"max_tokens\":-1|false",
      "\"stream_options\":{\"include_usage\":true}|true", "\"stream_options\":{}|false", "\"min_tokens\":0|false"})
  void limitsAndUsage_countTokens(String member, boolean counts) {
    assertThat(of(CHAT, "{" + MESSAGES + "," + member + "}").countsTokens(false)).isEqualTo(counts);
  }

  @Test
  void usageThatTheRouterAdded_andTheStandardLimitOfCompletions() {
    String usage = "{" + MESSAGES + ",\"stream_options\":{\"include_usage\":true}}";
    assertThat(of(CHAT, usage).countsTokens(true)).isFalse();
    assertThat(of(COMPLETIONS, "{\"prompt\":\"a\"}").countsTokens(true)).isTrue();
  }

  private static String body(String path, String asked, String text, int generated) {
    return new String(of(path, asked).body(text, generated), StandardCharsets.UTF_8);
  }

  private static @Nullable String unfit(String path, String asked) {
    return of(path, asked).unsupportedReason(true, "Hel");
  }

  private static Continuation of(String path, String asked) {
    return new Continuation(new ClientRequest(path, JsonMembers.of(asked.getBytes(StandardCharsets.UTF_8))));
  }
}
