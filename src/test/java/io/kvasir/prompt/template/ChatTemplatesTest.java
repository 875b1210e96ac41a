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
         "pad_token": null, "unk_token": "<unk>", "added_tokens_decoder": {"0": {"content": "<unk>"}}, "x_token": "x"}
        """);
    write("special_tokens_map.json", "{\"eos_token\": \"ignored\"}");
    ChatTemplates templates = find();
    assertThat(templates.specialTokens())
        .isEqualTo(Map.of("bos_token", "<s>", "eos_token", "</s>", "unk_token", "<unk>"));
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
