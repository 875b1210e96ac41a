package io.kvasir.http.server;

import org.apache.pekko.Done;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.SourceShape;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.apache.pekko.util.ByteString;

/**
 * The body of a streamed answer as Pekko has it: it emits nothing. Demand for the first element means that the head
 * has been written, for the renderer pulls only after its head was taken; then the body may be written.
 * Its completion makes Pekko end the body.
 */
final class StreamingBodySource extends GraphStage<SourceShape<ByteString>> {
  private final Outlet<ByteString> out = Outlet.create("StreamingBody.out");
  private final SourceShape<ByteString> shape = SourceShape.of(out);
  private final SocketSink sink;

  StreamingBodySource(SocketSink sink) {
    this.sink = sink;
  }

  @Override
  public SourceShape<ByteString> shape() {
    return shape;
  }

  @Override
  public GraphStageLogic createLogic(Attributes attributes) {
    return new GraphStageLogic(shape) {
      private final AsyncCallback<Done> end = createAsyncCallback(done -> completeStage());

      {
        setHandler(
            out,
            new AbstractOutHandler() {
              @Override
              public void onPull() {
                sink.open(end);
              }
            });
      }

      @Override
      public void postStop() {
        sink.close();
      }
    };
  }
}
