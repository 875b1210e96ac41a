package io.kvasir.prompt;

import static io.kvasir.prompt.Bodies.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests with a chat template of their own. */
final class RequestTemplatesTest {
  private static final String OWN = "own {{ messages[0].content }}";

  private static Prompts prompts(boolean requestTemplates) throws IOException {
    ModelConfig config = new ModelConfig(
        "demo", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 0,
        requestTemplates);
    return Prompts.load(
        List.of(config, ModelConfig.text("text")), PromptSettings.ofMemo(1 << 20), model -> null, Runnable::run,
        Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
  }

  private static ObjectNode body(String template) {
    ObjectNode body = Bodies.object("{'messages': [{'role': 'user', 'content': 'Hello'}]}");
    return body.put("chat_template", template);
  }

  @ParameterizedTest
  @CsvSource({"CHAT, demo", "EMBEDDINGS, demo", "CHAT, text", "CHAT, unknown"})
  void prepare_ownTemplate_isRefusedByDefault(Api api, String model) throws IOException {
    Prompt prompt = Bodies.prepare(prompts(false), api, model, body(OWN));
    assertThat(prompt.reason()).isEqualTo(PromptReason.REQUEST_TEMPLATE_REFUSED);
    assertThat(prompt.chain().length()).isZero();
    assertThat(prompt.detail())
        .contains("'" + model + "'", "request-templates = true", "--trust-request-chat-template")
        .doesNotContain(OWN);
  }

  @ParameterizedTest
  @CsvSource({"CHAT", "EMBEDDINGS", "RESPONSES", "MESSAGES"})
  void prepare_ownTemplateAmongTheKwargs_isRefusedByDefault(Api api) throws IOException {
    JsonNode body = json("{'messages': [{'role': 'user', 'content': 'Hello'}], 'input': 'Hello', 'max_tokens': 1,"
        + " 'chat_template_kwargs': {'chat_template': 'own'}}");
    assertThat(Bodies.prepare(prompts(false), api, "demo", body).reason())
        .isEqualTo(PromptReason.REQUEST_TEMPLATE_REFUSED);
  }

  /** On both ways to the tokens, of a caller that may have templates. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{{ ('<'*20000000)|striptags }}", "{{ (' a'*30000000).split()|length }}", "{% for m in messages %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
  })
  void prepare_allowedTemplateThatIsFaultyOrBeyondItsLimits_isRefused(String template) throws IOException {
    Prompts prompts = prompts(true);
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body(template));
    assertThat(prompt.reason()).isEqualTo(PromptReason.REQUEST_TEMPLATE_REFUSED);
    assertThat(prompt.detail()).startsWith("chat_template: ");
    assertThatThrownBy(() -> Bodies.tokens(prompts, Api.CHAT, "demo", body(template), false))
        .isInstanceOf(TemplateException.RefusedTemplate.class);
  }

  @Test
  void tokens_ownTemplate_isRefusedByDefault() throws IOException {
    Prompts prompts = prompts(false);
    assertThatThrownBy(() -> Bodies.tokens(prompts, Api.CHAT, "demo", body(OWN), false))
        .isInstanceOf(TemplateException.RefusedTemplate.class);
    assertThat(Bodies.tokens(prompts, Api.CHAT, "demo", body(OWN), true)).isNotEmpty();
  }

  @Test
  void prepare_nameOfAModelsTemplate_isAllowed() throws IOException {
    Prompts prompts = prompts(false);
    ObjectNode named = body("default");
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", named);
    assertThat(prompt.reason()).isEqualTo(PromptReason.AS_CONFIGURED);
    assertThat(Bodies.tokens(prompts, Api.CHAT, "demo", named, false))
        .isEqualTo(Bodies.tokens(prompts, Api.CHAT, "demo", named.without("chat_template"), false));
  }

  @Test
  void prepare_textPrompt_hasNoTemplateToRefuse() throws IOException {
    assertThat(Bodies.prepare(prompts(false), Api.COMPLETIONS, "demo", body(OWN).put("prompt", "Hello")).reason())
        .isEqualTo(PromptReason.AS_CONFIGURED);
  }

  @Test
  void prepare_ownTemplateOfAGrantedCaller_isRendered() throws IOException {
    Prompts prompts = prompts(false);
    assertThat(Bodies.prepareGranted(prompts, Api.CHAT, "demo", body(OWN)).reason())
        .isEqualTo(PromptReason.AS_CONFIGURED);
    assertThat(Bodies.prepareGranted(prompts, Api.CHAT, "text", body(OWN)).mode()).isEqualTo(PromptMode.TEXT);
  }

  @Test
  void prepare_ownTemplateWhereTheModelAllowsIt_isRendered() throws IOException {
    Prompts prompts = prompts(true);
    int[] own = Bodies.tokens(prompts, Api.CHAT, "demo", body(OWN), false);
    assertThat(own).isEqualTo(Bodies.tokens(prompts, Api.COMPLETIONS, "demo",
        json("{'prompt': 'own Hello', 'add_special_tokens': false}"), false));
    JsonNode kwarg = json("{'messages': [{'role': 'user', 'content': 'Hello'}],"
        + " 'chat_template_kwargs': {'chat_template': '" + OWN + "'}}");
    assertThat(Bodies.tokens(prompts, Api.CHAT, "demo", kwarg, false)).isEqualTo(own);
  }
}
