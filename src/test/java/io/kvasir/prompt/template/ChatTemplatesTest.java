package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ChatTemplatesTest {
  @TempDir
  private Path model;

  private void write(String file, String text) throws IOException {
    Path path = model.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, text);
  }

  private ChatTemplates find() throws IOException {
    return Objects.requireNonNull(ChatTemplates.find(model));
  }

  @Test
  void find_tokenizerConfig_templateAndTokens() throws IOException {
    write("tokenizer_config.json", """
        {"chat_template": "{{ bos_token }}hi", "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
         "pad_token": null, "unk_token": "<unk>", "added_tokens_decoder": {"0": {"content": "<unk>"}},
         "add_bos_token": true, "image_token": "<img>",
         "extra_special_tokens": {"boi": "<boi>", "eoi_token": {"content": "<eoi>"}}, "tokens": "none"}
        """);
    write("special_tokens_map.json", "{\"eos_token\": \"ignored\"}");
    ChatTemplates templates = find();
    assertThat(templates.specialTokens())
        .isEqualTo(Map.of(
            "bos_token", "<s>", "eos_token", "</s>", "unk_token", "<unk>", "image_token", "<img>", "boi", "<boi>",
            "eoi_token", "<eoi>"));
    assertThat(templates.select(true).source()).isEqualTo("{{ bos_token }}hi");
  }

  @Test
  void find_olderModel_takesTheSpecialTokensMap() throws IOException {
    write("tokenizer_config.json", "{\"chat_template\": \"x\", \"eos_token\": \"old\"}");
    write("special_tokens_map.json",
        "{\"eos_token\": {\"content\": \"new\"}, \"additional_special_tokens\": [\"<a>\"]}");
    assertThat(find().specialTokens()).isEqualTo(Map.of("eos_token", "new"));
  }

  @Test
  void find_listOfTemplates_byName() throws IOException {
    write("tokenizer_config.json", """
        {"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]}
        """);
    ChatTemplates templates = find();
    assertThat(templates.select(false).source()).isEqualTo("d");
    assertThat(templates.select(true).source()).isEqualTo("t");
  }

  @Test
  void find_jinjaFiles_goBeforeTheConfig() throws IOException {
    write("tokenizer_config.json", "{\"chat_template\": \"config\", \"bos_token\": \"<s>\"}");
    write("chat_template.jinja", "file");
    write("additional_chat_templates/rag.jinja", "rag");
    ChatTemplates templates = find();
    assertThat(templates.select(false).source()).isEqualTo("file");
    assertThat(templates.named().keySet()).containsExactlyInAnyOrder("default", "rag");
    assertThat(templates.specialTokens()).containsEntry("bos_token", "<s>");
  }

  @Test
  void find_chatTemplateJson_asLastResort() throws IOException {
    write("chat_template.json", "{\"chat_template\": \"processor\"}");
    assertThat(find().select(false).source()).isEqualTo("processor");
  }

  /** Engines that prefer the processor's do so in requests without tools. */
  @Test
  void find_templateOfAProcessor_goesBeforeTheTokenizersWithoutTools() throws IOException {
    write("tokenizer_config.json", "{\"chat_template\": \"tokenizer\"}");
    write("processor_config.json", "{\"chat_template\": \"newer\"}");
    assertThat(selected(false)).isEqualTo("newer");
    assertThat(selected(true)).isEqualTo("tokenizer");
    assertThat(find().select(false).source()).isEqualTo("tokenizer");
    write("chat_template.json", "{\"chat_template\": \"legacy\"}");
    assertThat(selected(false)).isEqualTo("legacy");
    write("chat_template.jinja", "file");
    assertThat(selected(false)).isEqualTo("legacy");
    assertThat(selected(true)).isEqualTo("file");
    Files.delete(model.resolve("chat_template.json"));
    assertThat(selected(false)).as("of both").isEqualTo("file");
  }

  @Test
  void find_processorConfig_asLastResort() throws IOException {
    write("processor_config.json", "{\"chat_template\": \"processor\"}");
    assertThat(find().select(false).source()).isEqualTo("processor");
    assertThat(selected(true)).isEqualTo("processor");
  }

  private String selected(boolean hasTools) throws IOException {
    return find().selectOfProcessor(hasTools).source();
  }

  @Test
  void find_withoutTemplate_isNull_andTheTokensAreRead() throws IOException {
    write("tokenizer_config.json", "{\"bos_token\": \"<s>\"}");
    assertThat(ChatTemplates.find(model)).isNull();
    assertThat(ChatTemplates.specialTokens(model)).isEqualTo(Map.of("bos_token", "<s>"));
  }

  @Test
  void find_brokenTemplate_namesTheFile() throws IOException {
    write("chat_template.jinja", "a\n{% if %}");
    assertThatThrownBy(() -> ChatTemplates.find(model))
        .isInstanceOf(TemplateException.Syntax.class)
        .hasMessageContaining("chat_template.jinja").hasMessageContaining("line 2");
  }
}
