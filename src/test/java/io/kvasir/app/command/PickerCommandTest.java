package io.kvasir.app.command;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.llmd.LlmdPicker;
import io.kvasir.llmd.PickerArgument;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class PickerCommandTest {
  @Test
  void fileOfOwnSettings_goesBeforeTheArguments_andIsReadAgain(@TempDir Path directory) throws Exception {
    LlmdPicker picker =
        LlmdPicker.of(
            Map.of(
                PickerArgument.ENDPOINT_SELECTOR, "app=vllm", PickerArgument.ENDPOINT_TARGET_PORTS, "8000",
                PickerArgument.GRPC_PORT, "9102", PickerArgument.METRICS_PORT, "9190"),
            Map.of("NAMESPACE", "inference"));
    Path file =
        Files.writeString(
            directory.resolve("own.conf"),
            "kvasir { pods-from.kubernetes.api = \"http://10.0.0.2\", management.port = 9191 }");
    PickerCommand command = new PickerCommand();
    var _ = new CommandLine(command).parseArgs("--config", file.toString());

    KvasirConfig config = command.configuration(picker);

    assertThat(config.picker()).isNotNull().extracting(read -> read.listener().port()).isEqualTo(9102);
    assertThat(config.operations().management().port()).isEqualTo(9191);
    assertThat(config.source().file()).isNotNull().satisfies(written -> {
      Files.writeString(file, "kvasir.management.port = 9192");
      assertThat(written.read().config().getInt("kvasir.management.port")).isEqualTo(9192);
      assertThat(written.read().config().getInt("kvasir.picker.port")).isEqualTo(9102);
    });
  }
}
