"""How strong the agents of this project are, and whether the chances of winning that they give come true."""
