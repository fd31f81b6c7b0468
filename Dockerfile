# The demo in a container, and everything else that `ddz` does:
#
#   docker build --tag ddz-env .
#   mkdir --mode 777 demo-report  # the container's user writes the report into it
#   docker run --rm --volume "$PWD/demo-report:/srv/ddz/demo-report" ddz-env
#   docker run --rm --interactive --tty ddz-env ddz play
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume ddz-games:/srv/ddz/games ddz-env \
#       ddz web --host 0.0.0.0 --folder games
FROM python:3.12-slim

RUN useradd --uid 1000 --create-home --home-dir /srv/ddz --user-group ddz
WORKDIR /srv/ddz/source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY ddz_env ddz_env
COPY agents agents
COPY training training
COPY play play
COPY papers papers
# PyTorch's builds for processors: those of the package index bring gigabytes of CUDA.
RUN python -m pip install --no-cache-dir --disable-pip-version-check --root-user-action ignore \
        --constraint constraints.txt --extra-index-url https://download.pytorch.org/whl/cpu ".[plot,train,web]" \
    && rm -rf /srv/ddz/source \
    && install --directory --owner ddz --group ddz /srv/ddz/games /srv/ddz/demo-report

# A number, so that a host can see that it is not root.
USER 1000
WORKDIR /srv/ddz
# Kernels are compiled when they are first used, for the processor that runs them.
ENV DDZ_CACHE_DIR=/srv/ddz/.cache/ddz-env
EXPOSE 8000
CMD ["ddz", "demo"]
