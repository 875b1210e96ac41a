package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The run that the launcher has the JVM record an AOT cache from. */
final class TrainIT {
  @Test
  void train_answersRequestsOnEveryPath() {
    TestCommand command = TestCommand.run("train", "--requests", "400", "--seconds", "600");

    assertThat(command.status()).as(command.err()).isZero();
    assertThat(command.out()).containsPattern("(?m)^400 requests were answered");
  }
}
