package io.kvasir.engines;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ModelSearchTest {
  private static final String REVISION = "0123456789abcdef0123456789abcdef01234567";

  @TempDir private Path directory = Path.of("");

  @Test
  void huggingFaceCache_hasTheSnapshotOfMain() throws Exception {
    Path model = directory.resolve("models--Qwen--Qwen3-32B");
    Path snapshot = files(model.resolve("snapshots").resolve(REVISION));
    Files.createDirectories(model.resolve("refs"));
    Files.writeString(model.resolve("refs").resolve("main"), REVISION);
    assertThat(find(served("Qwen/Qwen3-32B", null, null))).isEqualTo(snapshot.toString());
    assertThat(find(served("chat", "Qwen/Qwen3-32B", null))).isEqualTo(snapshot.toString());
    assertThat(find(served("Qwen/Other", null, null))).isEmpty();
  }

  @Test
  void revisionThatLeadsElsewhere_isNotFollowed() throws Exception {
    Path model = directory.resolve("models--a--b");
    files(directory.resolve("elsewhere"));
    Files.createDirectories(model.resolve("refs"));
    Files.createDirectories(model.resolve("snapshots"));
    Files.writeString(model.resolve("refs").resolve("main"), "../../elsewhere");
    assertThat(find(served("a/b", null, null))).isEmpty();
    assertThat(find(served("../elsewhere", null, null))).isEmpty();
  }

  @Test
  void directoryOfTheEngine_whereItIsHereToo_theTokenizersFirst() throws Exception {
    Path model = files(directory.resolve("model"));
    Path tokenizer = files(directory.resolve("tokenizer"));
    assertThat(find(served("m", model.toString(), null))).isEqualTo(model.toString());
    assertThat(find(served("m", model.toString(), tokenizer.toString()))).isEqualTo(tokenizer.toString());
    assertThat(find(served("m", directory.resolve("gone").toString(), null))).isEmpty();
  }

  @Test
  void namedDirectory_isTheOnlyModels_orTheOneCalledSo() throws Exception {
    Path named = files(directory.resolve("Qwen3-32B"));
    ModelSearch files = new ModelSearch(List.of(named), Map.of());
    assertThat(files.find(served("chat", null, null), true, false)).isPresent();
    assertThat(files.find(served("chat", null, null), false, false)).isEmpty();
    assertThat(files.find(served("Qwen/Qwen3-32B", null, null), false, false)).isPresent();
  }

  @Test
  void namedDirectoryWithoutTokenizer_isTold() {
    assertThatThrownBy(() -> new ModelSearch(List.of(directory), Map.of()))
        .isInstanceOf(IOException.class).hasMessageContaining("no tokenizer.json");
  }

  private String find(ServedModel model) throws IOException {
    return new ModelSearch(List.of(), Map.of("HF_HUB_CACHE", directory.toString()))
        .find(model, true, false).map(ModelSearch.Found::directory).orElse("");
  }

  private static ServedModel served(String name, @Nullable String root, @Nullable String tokenizer) {
    return new ServedModel(name, root, null, null, tokenizer);
  }

  private static Path files(Path at) throws IOException {
    Files.createDirectories(at);
    Files.writeString(at.resolve("tokenizer.json"), "{}");
    return at;
  }
}
